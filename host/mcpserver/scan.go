package mcpserver

// The parts of a JSON text that was checked before, without white space between
// its parts. encoding/json would read each of them once more for every level.

// valueEnd returns where the value that begins at b[i] ends.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func nestedEnd(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// A member is one of an object's, as it stands.
type member struct {
	name  []byte // with its quotes
	value []byte
	at    int // where the value begins in the object
}

// membersOf appends the members of an object, in its order.
func membersOf(b []byte, to []member) []member {
	for i := 1; b[i] != '}'; {
		if b[i] == ',' {
			i++
		}
		colon := stringEnd(b, i)
		end := valueEnd(b, colon+1)
		to = append(to, member{b[i:colon], b[colon+1 : end], colon + 1})
		i = end
	}
	return to
}

// itemsOf appends the items of an array.
func itemsOf(b []byte, to [][]byte) [][]byte {
	for i := 1; b[i] != ']'; {
		if b[i] == ',' {
			i++
		}
		end := valueEnd(b, i)
		to = append(to, b[i:end])
		i = end
	}
	return to
}
