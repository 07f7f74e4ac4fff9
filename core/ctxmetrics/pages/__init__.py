"""Pages and pieces of pages: templates, one stylesheet and one script, and what fills them in."""
