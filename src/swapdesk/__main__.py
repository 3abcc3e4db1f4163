import gc

# What is imported stays: a search for garbage among it would only take time. main() enables it.
gc.disable()

from swapdesk.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
