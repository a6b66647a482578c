package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
)

// The forms in which an account can have its dates, less those with month names
// in other languages.
const (
	dateDefault = "Mon Jan 2 15:04:05 2006"
	dateISO     = "2006-01-02 15:04:05"
	dateW3C     = "2006-01-02T15:04:05Z07:00"
	dateMail    = "Mon, 2 Jan 2006 15:04:05 -0700"
)

// Date writes a date as 2026-01-21T14:44:00, in the time zone in which it is
// shown: a page doesn't tell which that is. A text without a digit is no date
// ("Not set"). A date in a form that isn't known stays as it is shown.
func date(shown *string) *string {
	if shown == nil || !strings.ContainsAny(*shown, "0123456789") {
		return nil
	}
	for _, form := range []string{dateDefault, dateISO, dateW3C, dateMail} {
		if t, err := time.Parse(form, *shown); err == nil {
			s := t.Format("2006-01-02T15:04:05")
			return &s
		}
	}
	return shown
}

// Count reads the one number of a heading such as "Found 1,234 tickets". What may
// stand between its digits differs from language to language.
func count(heading string) (int, bool) {
	var digits strings.Builder
	for _, r := range heading {
		switch {
		case r >= '0' && r <= '9':
			digits.WriteRune(r)
		case digits.Len() > 0 && r == ' ':
			n, err := strconv.Atoi(digits.String())
			return n, err == nil
		}
	}
	n, err := strconv.Atoi(digits.String())
	return n, err == nil
}

// Person turns Request Tracker's stand-in for nobody into null.
func person(shown *string) *string {
	if shown == nil || *shown == "" || *shown == "Nobody in particular" || *shown == "Nobody" {
		return nil
	}
	return shown
}

func ticketPath(id int) string { return "/Ticket/Display.html?id=" + strconv.Itoa(id) }

func ticketURL(ctx *sdk.Context, id int) string {
	return strings.TrimSuffix(ctx.Setting("base_url"), "/") + ticketPath(id)
}
