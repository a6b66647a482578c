#!/usr/bin/perl
# Seeds a fresh RT database from dataset.json, through RT's own Perl API.
use strict; use warnings; use utf8;
use lib '/usr/share/request-tracker5/lib';
use JSON; use MIME::Entity; use Encode;
use RT; RT::LoadConfig(); RT::Init();
use RT::User; use RT::Group; use RT::Queue; use RT::Ticket; use RT::CustomField;
my $su = RT->SystemUser;
open my $f, '<:raw', $ARGV[0] or die $!; local $/; my $d = decode_json(<$f>);
$RT::Handle->BeginTransaction;
my %u;
for my $u (@{$d->{users}}) {
  my $o = RT::User->new($su);
  my ($id,$m) = $o->Create(Name=>$u->{login}, RealName=>$u->{name}, EmailAddress=>$u->{email}, Password=>$u->{password}, Privileged=>1);
  $id or die "user $u->{login}: $m"; $u{$u->{login}} = $o;
}
my $g = RT::Group->new($su); $g->LoadSystemInternalGroup('Privileged');
my @ticket_rights = qw(SeeQueue ShowTicket CreateTicket ReplyToTicket CommentOnTicket ShowTicketComments ModifyTicket OwnTicket TakeTicket StealTicket ReassignTicket DeleteTicket Watch ShowOutgoingEmail SeeCustomField ModifyCustomField ForwardMessage);
for my $r (@ticket_rights) {
  my ($ok,$m) = $g->PrincipalObj->GrantRight(Right=>$r, Object=>$RT::System); $ok or warn "$r: $m";
}
for my $r (qw(ModifySelf ShowSavedSearches LoadSavedSearch CreateSavedSearch EditSavedSearches SeeDashboard SeeOwnDashboard)) {
  my ($ok,$m) = $g->PrincipalObj->GrantRight(Right=>$r, Object=>$RT::System); $ok or warn "$r: $m";
}
for my $q (@{$d->{queues}}) { my $o=RT::Queue->new($su); my ($id,$m)=$o->Create(Name=>$q, Description=>"$q requests"); $id or die $m; }
my $cf = RT::CustomField->new($su);
my ($ok,$m) = $cf->Create(Name=>'Severity', Type=>'SelectSingle', LookupType=>'RT::Queue-RT::Ticket', Description=>'How bad is it?'); $ok or die $m;
$cf->AddValue(Name=>$_, SortOrder=>1) for qw(feature trivial text tweak minor major crash block);
$cf->AddToObject(RT::Queue->new($su));
my $tg = RT::CustomField->new($su);
($ok,$m) = $tg->Create(Name=>'Tags', Type=>'FreeformMultiple', LookupType=>'RT::Queue-RT::Ticket'); $ok or die $m;
$tg->AddToObject(RT::Queue->new($su));
$RT::Handle->Commit;
# no mails (and no automatic status change on reply) for records that are imported: scrips are off until the end
my $dbh=$RT::Handle->dbh;
my $off=$dbh->selectcol_arrayref("SELECT id FROM Scrips WHERE Disabled=0");
$dbh->do("UPDATE Scrips SET Disabled=1");
my %prio=(none=>0,low=>0,normal=>50,high=>100,urgent=>100,immediate=>100);
sub sqlt { my $t=shift; $t =~ s/T/ /; $t =~ s/Z//; $t }
for my $t (@{$d->{tickets}}) {
  $RT::Handle->BeginTransaction;
  my $by = $u{$t->{requester}};
  my $mime = MIME::Entity->build(Type=>'multipart/mixed', Subject=>Encode::encode('UTF-8',$t->{subject}), From=>$by->EmailAddress);
  $mime->attach(Type=>'text/plain', Charset=>'UTF-8', Data=>[Encode::encode('UTF-8',$t->{body})]);
  for my $a (@{$t->{attachments}}) {
    $mime->attach(Type=>$a->{mime}, Charset=>'UTF-8', Filename=>Encode::encode('UTF-8',$a->{name}), Disposition=>'attachment', Encoding=>'base64', Data=>[Encode::encode('UTF-8',$a->{text})]);
  }
  my $k = RT::Ticket->new(RT::CurrentUser->new($by));
  my ($id,undef,$msg) = $k->Create(Queue=>$t->{queue}, Subject=>$t->{subject}, Requestor=>[$by->EmailAddress], Priority=>$prio{$t->{priority}},
    Owner=>($t->{owner}||'Nobody'), MIMEObj=>$mime, Due=>($t->{due}?sqlt($t->{due}):undef), 'CustomField-'.$cf->id=>$t->{severity}, 'CustomField-'.$tg->id=>$t->{tags});
  $id or die "ticket $t->{n}: $msg";
  my @when;
  for my $c (@{$t->{comments}}) {
    my $x = RT::Ticket->new(RT::CurrentUser->new($u{$c->{author}})); $x->Load($id);
    my $e = MIME::Entity->build(Type=>'text/plain', Charset=>'UTF-8', Data=>[Encode::encode('UTF-8',$c->{text})]);
    my ($tx,$mm) = $c->{private} ? $x->Comment(MIMEObj=>$e) : $x->Correspond(MIMEObj=>$e);
    $tx or die "comment on $id: $mm";
    push @when, [$tx, $c->{created}];
  }
  my $x = RT::Ticket->new($su); $x->Load($id);
  if ($x->Status ne $t->{status}) { my ($ok,$m)=$x->SetStatus($t->{status}); $ok or warn "status $id: $m"; }
  my $last = @when ? $when[-1][1] : $t->{created};
  $dbh->do("UPDATE Transactions SET Created=? WHERE ObjectType='RT::Ticket' AND ObjectId=?",undef,sqlt($t->{created}),$id);
  $dbh->do("UPDATE Transactions SET Created=? WHERE id=?",undef,sqlt($_->[1]),$_->[0]) for @when;
  $dbh->do("UPDATE Tickets SET Created=?, LastUpdated=? WHERE id=?",undef,sqlt($t->{created}),sqlt($last),$id);
  $RT::Handle->Commit;
}
$dbh->do("UPDATE Scrips SET Disabled=0 WHERE id=?",undef,$_) for @$off;
# Rights move from every privileged user to a group of the staff, and one more privileged user stays outside it:
# signed in, with the normal interface, but not allowed to see a queue or a ticket. Last, so that no id above changes.
my $staff = RT::Group->new($su);
($ok,$m) = $staff->CreateUserDefinedGroup(Name=>'Staff', Description=>'Everybody who works on tickets'); $ok or die "group: $m";
for my $o (values %u) { ($ok,$m) = $staff->AddMember($o->PrincipalId); $ok or die "member: $m"; }
for my $r (@ticket_rights) {
  ($ok,$m) = $staff->PrincipalObj->GrantRight(Right=>$r, Object=>$RT::System); $ok or die "$r: $m";
  ($ok,$m) = $g->PrincipalObj->RevokeRight(Right=>$r, Object=>$RT::System); $ok or die "$r: $m";
}
my $no = RT::User->new($su);
($ok,$m) = $no->Create(Name=>'norights', RealName=>'Noor Rights', EmailAddress=>'norights@example.test', Password=>'Secret-norights-1', Privileged=>1);
$ok or die "user norights: $m";
print "seeded ".scalar(@{$d->{tickets}})." tickets\n";
