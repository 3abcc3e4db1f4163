"""What goes on whatever page is in view. The application holds one of each; pages reach them
through ``Page.controls``. A worker touches no page: it hands what it knows to its controller by
``call_later`` of the application."""
