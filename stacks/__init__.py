"""The stages of this repository's CDK application, and the commands that deploy them."""
