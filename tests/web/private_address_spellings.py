"""Private addresses in many spellings."""

from __future__ import annotations

from tests.helpers.fake_websites import PUBLIC

SPELLINGS = """
http://127.0.0.1/ http://127.0.0.1:8080/ https://127.0.0.1/ http://127.1/ http://127.0.1/ http://0/ http://0.0.0.0/
http://00.0.0.0/ http://2130706433/ http://017700000001/ http://0x7f000001/ http://0x7f.0.0.1/ http://0x7f.1/
http://0177.0.0.1/ http://0177.0.0.01/ http://127.0.0.1./ http://127.000.000.001/ http://0x7F.0x0.0x0.0x1/
http://127.0.0.0x1/ http://4294967296/ http://127.0.0.1.:80/ http://localhost/ http://LOCALHOST/ http://localhost./
http://localhost.localdomain/ http://foo.localhost/ http://LocalHost:3000/ http://127.255.255.254/ http://10.0.0.1/
http://10.255.255.255/ http://172.16.0.1/ http://172.31.255.255/ http://192.168.0.1/ http://192.168.1.1:8443/
http://100.64.0.1/ http://100.127.255.254/ http://169.254.1.1/ http://169.254.169.254/latest/meta-data/
http://169.254.170.2/ http://169.254.170.23/ http://168.63.129.16/ http://100.100.100.200/ http://192.0.0.192/
http://169.254.42.42/ http://192.0.0.1/ http://192.0.2.1/ http://198.18.0.1/ http://198.19.255.255/ http://198.51.100.7/
http://203.0.113.9/ http://224.0.0.1/ http://239.255.255.250/ http://240.0.0.1/ http://255.255.255.255/
http://192.88.99.1/ http://2852039166/ http://0xA9FEA9FE/ http://[::1]/ http://[::]/ http://[0:0:0:0:0:0:0:1]/
http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[::ffff:10.0.0.1]/ http://[::ffff:169.254.169.254]/
http://[::127.0.0.1]/ http://[::7f00:1]/ http://[64:ff9b::127.0.0.1]/ http://[64:ff9b::7f00:1]/
http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b:1::7f00:1]/ http://[64:ff9b:1:7f00:0:100::]/ http://[2002:7f00:1::]/
http://[2002:a9fe:a9fe::1]/ http://[2002:c0a8:101::1]/ http://[2001:0:7f00:1::]/
http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/ http://[fe80::1]/ http://[fe80::1%25eth0]/ http://[fe80::1%eth0]/
http://[fc00::1]/ http://[fd00::1]/ http://[fd00:ec2::254]/ http://[fd20:ce::254]/ http://[fec0::1]/ http://[ff02::1]/
http://[2001:db8::1]/ http://[100::1]/ http://[3fff::1]/ http://[2001:10::1]/ http://[2001:20::1]/ http://[5f00::1]/
http://[2600::5efe:7f00:1]/ http://[2600::200:5efe:10.0.0.1]/ http://[::ffff:0:127.0.0.1]/ http://[::1]:8080/
http://[::1.2.3.4]/ http://user@public.org/ http://user:pass@127.0.0.1/ http://public.org@127.0.0.1/
http://127.0.0.1@public.org/ http://public.org:80@10.0.0.1/ http://public.org%40127.0.0.1/
http://127.0.0.1%2f@public.org/ http://public.org\\@127.0.0.1/ http:\\\\127.0.0.1\\ http://127.0.0.1\\.public.org/
http:///127.0.0.1/ http:127.0.0.1 http:/127.0.0.1 //127.0.0.1/ http://#@127.0.0.1/ http://?@127.0.0.1/ http:// http://./
http://../ http://.org/ http://１２７.０.０.１/ http://127。0。0。1/ http://127．0．0．1/ http://①②⑦.⓪.⓪.①/ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/
http://ｌｏｃａｌｈｏｓｔ/ http://loc\u00adalhost/ http://[::ⓕⓕⓕⓕ:127.0.0.1]/ http://localhost。/ http://169。254。169。254/
http://xn--/ http://-.org/ http://a..org/ http://printer.local/ http://nas.lan/ http://router.home/
http://box.home.arpa/ http://db.internal/ http://wiki.intranet/ http://x.corp/ http://metadata.google.internal/
http://metadata/ http://intranet/ http://site.test/ http://site.invalid/ http://site.example/ http://hidden.onion/
http://name.alt/ http://a.private/ http://public.org:22/ http://public.org:25/ http://public.org:0/
http://public.org:65536/ http://public.org:-1/ http://public.org:٨٠/ http://public.org:80:80/ http://public.org:8o/
http://public.org:+80/ http://public.org:3306x/ http://public.org:111/ http://public.org:993/ file:///etc/passwd
gopher://public.org/ ftp://public.org/ data:text/html,hi javascript:alert(1) dict://public.org/ ldap://public.org/
unix:///run/docker.sock jar:http://public.org/ view-source:http://public.org/ about:blank ws://public.org/ public.org
HTTP+UNIX://%2frun/ http://a.public.org/ http://b.public.org/ http://c.public.org/ http://d.public.org/
http://e.public.org/ http://f.public.org/ http://g.public.org/ http://h.public.org/ http://i.public.org/
""".split()  # noqa: SIM905 - one a line would hide how alike they are

NAMES = {
    "a.public.org": ("127.0.0.1",),
    "b.public.org": (PUBLIC, "10.0.0.1"),
    "c.public.org": ("::1",),
    "d.public.org": ("::ffff:169.254.169.254",),
    "e.public.org": ("64:ff9b::a00:1", PUBLIC),
    "f.public.org": (),
    "g.public.org": ("0.0.0.0",),
    "h.public.org": ("fe80::1%2",),
    "i.public.org": ("nonsense",),
}
