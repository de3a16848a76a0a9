// A page opened from a folder may not read its neighbours: there the search lists pages without an excerpt.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
