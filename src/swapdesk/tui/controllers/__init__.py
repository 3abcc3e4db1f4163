"""Controllers of work that continues when the user goes to a different page.

The application has one of each; pages reach them through ``Page.controls``. A worker never touches
a page: it calls its controller by ``call_later`` of the application.
"""
