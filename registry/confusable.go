package registry

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// LooksLike reports whether one of two different names ("namespace/name") is
// easily taken for the other, and why, as the end of a sentence that begins with
// both. Plugins of one namespace have one owner, and those are compared by their
// own names; of two namespaces, both parts have to be near.
func LooksLike(a, b string) (why string, ok bool) {
	nsA, nameA, _ := strings.Cut(a, "/")
	nsB, nameB, _ := strings.Cut(b, "/")
	if a == b {
		return "", false
	}
	if nsA == nsB {
		return near(nameA, nameB, minNear)
	}
	nsWhy, nsNear := near(nsA, nsB, minNearNamespace)
	nameWhy, nameNear := near(nameA, nameB, minNear)
	switch {
	case nsNear && nameA == nameB:
		return "their namespaces " + nsWhy, true
	case nsNear && nameNear:
		return "their namespaces " + nsWhy, true
	case nameA == nameB:
		return "they have one name in two namespaces", true
	case nameNear && len(nameA) >= minNear:
		return nameWhy, true
	}
	return "", false
}

// near compares two names, or two namespaces. From the length least on, one letter
// is little of them.
func near(a, b string, least int) (why string, ok bool) {
	short := min(len(a), len(b))
	switch {
	case a == b:
		return "", false
	case skeleton(a) == skeleton(b):
		return "look the same but for letters that are easily mixed up", true
	case singular(skeleton(a)) == singular(skeleton(b)):
		return "differ by a plural", true
	case sortedWords(a) == sortedWords(b):
		return "have the same words in another order", true
	case short >= least && distance(a, b) == 1:
		return "differ by one letter", true
	case short >= 2*least && distance(a, b) == 2:
		return "differ by two letters", true
	}
	return "", false
}

// "wiki" and "wifi" are simply two words, while of namespaces there are few, and each
// stands for somebody who is trusted.
const (
	minNear          = 5
	minNearNamespace = 4
)

// lookalikes are letters that are read as another one: by a person, in some font.
// Both sides of a comparison are rewritten.
var lookalikes = strings.NewReplacer(
	"0", "o", "1", "l", "i", "l", "j", "l", "5", "s", "2", "z", "8", "b", "6", "b", "9", "g", "q", "g",
	"-", "", "_", "", ".", "",
)

// pairs are two letters that are read as one, made of letters that lookalikes left.
var pairs = strings.NewReplacer("rn", "m", "vv", "w", "cl", "d")

// skeleton is a name with everything that is easily mixed up made one.
func skeleton(s string) string { return pairs.Replace(lookalikes.Replace(strings.ToLower(s))) }

func singular(s string) string {
	if t, ok := strings.CutSuffix(s, "es"); ok && len(t) > 2 {
		return t
	}
	if t, ok := strings.CutSuffix(s, "s"); ok && len(t) > 2 {
		return t
	}
	return strings.TrimSuffix(s, "e")
}

func sortedWords(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '_' })
	slices.Sort(words)
	return strings.Join(words, "-")
}

// distance is how many letters to insert, remove, replace or swap with their
// neighbour make b of a. The names are short.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// reservedNames are what Windows takes for a device, whatever follows a dot. A
// registry that has one as a folder can't be cloned there.
func reservedName(s string) bool {
	s, _, _ = strings.Cut(strings.ToLower(s), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, s) {
		return true
	}
	return len(s) == 4 && (s[:3] == "com" || s[:3] == "lpt") && s[3] >= '0' && s[3] <= '9'
}

// A Notice is something that a person should know before a plugin is installed
// for the first time, and that is no reason to refuse.
type Notice struct {
	Code    NoticeCode
	Message string
}

// A NoticeCode says what a notice is about.
type NoticeCode string

// The notices.
const (
	NoticeLooksLike    NoticeCode = "looks_like"    // another plugin has nearly this name
	NoticeNewPublisher NoticeCode = "new_publisher" // nobody here knows the key that signed
	NoticeOtherSigner  NoticeCode = "other_signer"  // another key signed than the installed version's
	NoticeOld          NoticeCode = "old"           // the program carries it, and newer ones may be out
	NoticeUnread       NoticeCode = "unread"        // a registry could not be looked into for the same name
	NoticeRemoved      NoticeCode = "removed"       // a registry that was removed had the same name
	NoticePassedOver   NoticeCode = "passed_over"   // a newer version is revoked, and this one was chosen in its place
)

// newPublisher is how long a key counts as new after it was let in.
const newPublisher = 30 * 24 * time.Hour

// maxLookalikes is how many plugins of nearly the same name are told of.
const maxLookalikes = 3

// notices collects what is worth a person's second look about a version.
func (c *catalog) notices(v *verified, lock *Lock, now time.Time) []Notice {
	plugin := v.Namespace + "/" + v.Name
	if old := lock.find(plugin); old != nil {
		if old.Signer == v.signer.Primary {
			return nil
		}
		return []Notice{{NoticeOtherSigner, "another key signed the installed version: " + old.Signer.Grouped()}}
	}
	list := c.lookalikesOf(plugin, lock)
	known := slices.ContainsFunc(lock.Plugins, func(e Entry) bool { return e.Signer == v.signer.Primary })
	if since := v.since; !known && now.Sub(since.Time) < newPublisher {
		list = append(list, Notice{NoticeNewPublisher, fmt.Sprintf(
			"its publisher is new: the registry lets this key publish in %q since %s", v.Namespace, since.Format(time.DateOnly))})
	}
	return list
}

// lookalikesOf compares a plugin's name with what is installed and with what its
// registry has.
func (c *catalog) lookalikesOf(plugin string, lock *Lock) (list []Notice) {
	told := map[string]bool{plugin: true}
	tell := func(other, where string) {
		if told[other] || len(list) >= maxLookalikes {
			return
		}
		if why, ok := LooksLike(plugin, other); ok {
			told[other] = true
			list = append(list, Notice{NoticeLooksLike, fmt.Sprintf("%q looks like %q, which is %s: %s", plugin, other, where, why)})
		}
	}
	for _, e := range lock.Plugins {
		tell(e.Plugin(), "installed")
	}
	for _, ref := range c.plugins() {
		tell(ref.Plugin(), "in the same registry")
	}
	return list
}
