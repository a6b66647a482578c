package mantis

import (
	"bytes"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

func escape(s string) string { return template.HTMLEscapeString(s) }

// edit parses a page, changes it and writes it again.
func edit(page []byte, change func(doc *html.Node)) []byte {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		panic("BUG: a page that can't be parsed: " + err.Error())
	}
	change(doc)
	var out bytes.Buffer
	if err := html.Render(&out, doc); err != nil {
		panic("BUG: a page that can't be written: " + err.Error())
	}
	return out.Bytes()
}

// find returns the first element below n that matches, or nil; n may be nil.
func find(n *html.Node, match func(*html.Node) bool) *html.Node {
	if n == nil {
		return nil
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && match(d) {
			return d
		}
	}
	return nil
}

func byID(id string) func(*html.Node) bool {
	return func(n *html.Node) bool { return attr(n, "id") == id }
}

func byTag(tag string) func(*html.Node) bool {
	return func(n *html.Node) bool { return n.Data == tag }
}

func byClass(class string) func(*html.Node) bool {
	return func(n *html.Node) bool { return slices.Contains(strings.Fields(attr(n, "class")), class) }
}

// cellOf matches the cell of a bug's field; the heading beside it has the same class.
func cellOf(class string) func(*html.Node) bool {
	return func(n *html.Node) bool { return n.Data == "td" && byClass(class)(n) }
}

func attr(n *html.Node, name string) string {
	if n != nil {
		for _, a := range n.Attr {
			if a.Key == name {
				return a.Val
			}
		}
	}
	return ""
}

func setAttr(n *html.Node, name, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == name {
			n.Attr[i].Val = value
		}
	}
}

// words is an element's text, white space collapsed.
func words(n *html.Node) string {
	var b strings.Builder
	if n != nil {
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				b.WriteString(d.Data)
			}
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// number is the first run of digits of a text, or 0.
func number(s string) int {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	start := strings.IndexFunc(s, isDigit)
	if start < 0 {
		return 0
	}
	s = s[start:]
	if end := strings.IndexFunc(s, func(r rune) bool { return !isDigit(r) }); end >= 0 {
		s = s[:end]
	}
	n, _ := strconv.Atoi(s)
	return n
}

// userOf is the number of the user whom a cell links to, or 0.
func userOf(cell *html.Node) int {
	_, id, _ := strings.Cut(attr(find(cell, byTag("a")), "href"), "view_user_page.php?id=")
	return number(id)
}

func empty(n *html.Node) {
	for n.FirstChild != nil {
		n.RemoveChild(n.FirstChild)
	}
}

func setText(n *html.Node, text string) {
	empty(n)
	n.AppendChild(&html.Node{Type: html.TextNode, Data: text})
}

// setHTML puts markup into an element.
func setHTML(n *html.Node, markup []byte) {
	empty(n)
	nodes, err := html.ParseFragment(bytes.NewReader(markup), n)
	if err != nil {
		panic("BUG: markup that can't be parsed: " + err.Error())
	}
	for _, c := range nodes {
		n.AppendChild(c)
	}
}

func clone(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: slices.Clone(n.Attr)}
	for child := range n.ChildNodes() {
		c.AppendChild(clone(child))
	}
	return c
}

func remove(n *html.Node) {
	if n != nil {
		n.Parent.RemoveChild(n)
	}
}

// replaceContent keeps a page's frame and puts markup into its middle.
func replaceContent(page, markup []byte) []byte {
	return edit(page, func(doc *html.Node) { setHTML(find(doc, byClass("page-content")), markup) })
}
