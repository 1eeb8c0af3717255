"""A queue over HTTP: what can be asked, what is answered, and the document that says so."""
