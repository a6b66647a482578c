package browser

import (
	"strings"
	"unicode/utf8"
)

// A key is what the browser needs to know to press it.
type key struct {
	code    string // KeyboardEvent.code on a US keyboard
	virtual int64  // Windows virtual key code
	text    string // what it types
}

// keyOf finds a key by KeyboardEvent.key. A single character is a key, too.
func keyOf(name string) (key, bool) {
	switch name {
	case "Enter":
		return key{"Enter", 13, "\r"}, true
	case "Tab":
		return key{"Tab", 9, ""}, true
	case "Escape":
		return key{"Escape", 27, ""}, true
	case "Backspace":
		return key{"Backspace", 8, ""}, true
	case "Delete":
		return key{"Delete", 46, ""}, true
	case "Home":
		return key{"Home", 36, ""}, true
	case "End":
		return key{"End", 35, ""}, true
	case "PageUp":
		return key{"PageUp", 33, ""}, true
	case "PageDown":
		return key{"PageDown", 34, ""}, true
	case "ArrowLeft":
		return key{"ArrowLeft", 37, ""}, true
	case "ArrowUp":
		return key{"ArrowUp", 38, ""}, true
	case "ArrowRight":
		return key{"ArrowRight", 39, ""}, true
	case "ArrowDown":
		return key{"ArrowDown", 40, ""}, true
	case " ":
		return key{"Space", 32, " "}, true
	}
	if utf8.RuneCountInString(name) != 1 || name < " " {
		return key{}, false
	}
	k := key{text: name}
	switch upper := strings.ToUpper(name); {
	case upper >= "A" && upper <= "Z":
		k.code, k.virtual = "Key"+upper, int64(upper[0])
	case name >= "0" && name <= "9":
		k.code, k.virtual = "Digit"+name, int64(name[0])
	}
	return k, true
}
