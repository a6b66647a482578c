package browser

import (
	"context"

	"github.com/chromedp/cdproto/domsnapshot"
)

// The helper in a page can't look into a closed shadow root, and a picture shows
// what is in it. The browser itself tells where its fields are.

// closedMasks lists the fields in closed shadow roots, in CSS pixels of the window:
// whatever they are for, since no name or type of theirs was looked at.
func (p *Page) closedMasks(ctx context.Context) ([]rect, error) {
	res, err := do(ctx, p.s, domsnapshot.CaptureSnapshot, domsnapshot.CaptureSnapshotParams{ComputedStyles: []string{}})
	if err != nil {
		return nil, err
	}
	return closedFields(res.Documents, res.Strings), nil
}

// closedFields finds them in what the browser tells of a page and its frames. A
// frame that has one is listed as a whole.
func closedFields(docs []*domsnapshot.DocumentSnapshot, words []string) []rect {
	hidden := make([][]int64, len(docs)) // nodes, by document
	for d := len(docs) - 1; d >= 0; d-- {
		hidden[d] = append(hidden[d], fieldsIn(docs[d].Nodes, words)...)
		if d == 0 || len(hidden[d]) == 0 {
			continue
		}
		for parent := range d {
			if owner, ok := ownerOf(docs[parent].Nodes, int64(d)); ok {
				hidden[parent] = append(hidden[parent], owner)
			}
		}
	}
	if len(docs) == 0 {
		return nil
	}
	return boundsOf(docs[0], hidden[0])
}

// fieldsIn lists the input and textarea elements below a closed shadow root.
func fieldsIn(n *domsnapshot.NodeTreeSnapshot, words []string) (list []int64) {
	if n == nil || n.ShadowRootType == nil {
		return nil
	}
	closed := map[int64]bool{}
	for i, at := range n.ShadowRootType.Index {
		closed[at] = word(words, n.ShadowRootType.Value[i]) == "closed"
	}
	for i := range n.NodeName {
		name := word(words, n.NodeName[i])
		if name != "INPUT" && name != "TEXTAREA" {
			continue
		}
		for at := int64(i); at >= 0 && at < int64(len(n.ParentIndex)); at = n.ParentIndex[at] {
			if closed[at] {
				list = append(list, int64(i))
				break
			}
		}
	}
	return list
}

func word(words []string, i domsnapshot.StringIndex) string {
	if i < 0 || int(i) >= len(words) {
		return ""
	}
	return words[i]
}

// ownerOf is the element that holds a frame's document.
func ownerOf(n *domsnapshot.NodeTreeSnapshot, doc int64) (node int64, ok bool) {
	if n == nil || n.ContentDocumentIndex == nil {
		return 0, false
	}
	for i, d := range n.ContentDocumentIndex.Value {
		if d == doc {
			return n.ContentDocumentIndex.Index[i], true
		}
	}
	return 0, false
}

// boundsOf is where nodes of the page itself are. One without a box shows nothing.
func boundsOf(doc *domsnapshot.DocumentSnapshot, nodes []int64) (list []rect) {
	if doc.Layout == nil || len(nodes) == 0 {
		return nil
	}
	wanted := map[int64]bool{}
	for _, n := range nodes {
		wanted[n] = true
	}
	for i, n := range doc.Layout.NodeIndex {
		if b := doc.Layout.Bounds[i]; wanted[n] && len(b) == 4 {
			list = append(list, rect{b[0] - doc.ScrollOffsetX, b[1] - doc.ScrollOffsetY, b[2], b[3]})
		}
	}
	return list
}
