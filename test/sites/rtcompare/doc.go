// Package rtcompare holds results of the Request Tracker connector against the
// truth, which is what Request Tracker's database holds: ids, counts and order
// exactly, and every field of every row.
//
// A field is compared as it stands in the truth, unless rules.go has a rule for
// it. A rule says how Request Tracker shows a value of that field, and why that
// differs from what is stored. It turns the truth into what must be shown,
// never the result into something that is easier to match.
package rtcompare
