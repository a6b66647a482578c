// Package mantiscompare holds results of the MantisBT connector against the
// truth, which is what MantisBT's database holds: ids, counts and order exactly,
// and every field of every bug and note. The history of a bug is not in the truth;
// whoever calls says what it has to be.
//
// A field is compared as it stands in the truth, unless rules.go has a rule for
// it. A rule says how MantisBT shows a value of that field, and why that differs
// from what is stored. It turns the truth into what must be shown, never the
// result into something that is easier to match.
package mantiscompare
