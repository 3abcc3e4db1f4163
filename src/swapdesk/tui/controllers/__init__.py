"""Controllers of work that continues when the user goes to a different page. Pages reach them
through ``Page.controls``. A worker never touches a page: it calls its controller by ``call_later``
of the application."""
