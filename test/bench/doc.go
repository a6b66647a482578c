// Package bench measures what drawbridge costs, as ratios against a floor measured
// in the same run: the same browser, the same page, the same message, in turn.
// "make bench" runs it; report (in report/) turns the output into JSON and the
// README's table.
package bench
