package sdk

import "strings"

// Path makes a path of a template and a query: Path("/issues", "status", "open",
// "page", "") is "/issues?status=open". Pairs whose value is empty are left out.
// Names and values are percent-encoded; path is taken as it is, see [Segment].
func Path(path string, query ...string) string {
	if len(query)%2 != 0 {
		panic("BUG: sdk.Path wants pairs of a name and a value")
	}
	var b strings.Builder
	b.WriteString(path)
	sep := byte('?')
	for i := 0; i < len(query); i += 2 {
		if query[i+1] == "" {
			continue
		}
		b.WriteByte(sep)
		b.WriteString(Segment(query[i]) + "=" + Segment(query[i+1]))
		sep = '&'
	}
	return b.String()
}

// Segment percent-encodes text so that it stands for itself as one segment of a
// path, or as a name or value of a query.
func Segment(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
