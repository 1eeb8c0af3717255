"""Messages of other services, and the tasks that are made of them."""
