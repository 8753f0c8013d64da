// A comment that the page does not show.

func.func private @shown()
