"""The pages of ``docs/reference``, each made from the tables of the program."""
