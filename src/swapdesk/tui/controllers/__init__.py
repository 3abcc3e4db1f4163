"""What goes on whatever page is in view. The application holds one of each and hands its messages
on to them; they reach the application through ``navigation.DeskHost``, pages reach them through
``Page.controls``."""
