#!/usr/bin/env bats
# man/html, which makes the manual's pages in HTML, and the links in them.

load ../lib/helpers

PROJECT=$TESTS_DIR/..

setup_file() {
	command -v mandoc >/dev/null || skip 'there is no mandoc here'
	"$TESTS_DIR/../man/html" "$BATS_FILE_TMPDIR/html" >/dev/null
}

setup() {
	cd "$BATS_FILE_TMPDIR/html" || return
}

# links FOLDER: prints the number of links; fails and names each that leads nowhere
links() {
	python3 - "$1" <<'END'
import html.parser, os, re, sys

folder, pages, failed = sys.argv[1], {}, 0

class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src", "srcset"):
                self.links.append(value)

for name in os.listdir(folder):
    if name.endswith(".html"):
        pages[name] = Page(os.path.join(folder, name))
for name, page in pages.items():
    for link in page.links:
        target, _, anchor = link.partition("#")
        target = target or name
        # Pages of other projects, such as "crontab.5".
        if re.fullmatch(r"https://manpages\.debian\.org/(?!fairlock)[a-z-]+\.[1-8]", target) and not anchor:
            continue
        if not os.path.exists(os.path.join(folder, target)) or (anchor and anchor not in pages[target].ids):
            print(f"{name}: {link} leads nowhere")
            failed = 1
print(sum(len(page.links) for page in pages.values()), "links")
sys.exit(failed)
END
}

@test "every link in the pages leads to a page and a place that exist" {
	run -0 links .
	[ "${output% links}" -gt 300 ] || fail "only $output"
}
