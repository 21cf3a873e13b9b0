# man/examples/ansible-locked.yml, run by the real ansible-playbook on local hosts.

load ../lib/recipes

setup() {
	begin_example
	cp "$EXAMPLES/ansible-locked.yml" .
	printf '%s ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n' one two >hosts
	export ANSIBLE_INVENTORY=$PWD/hosts
}

# deploy COMMAND: makes the playbook deploy.yml, whose task runs COMMAND for each host
deploy() {
	cat >deploy.yml <<-END
		- hosts: all
		  gather_facts: false
		  tasks:
		    - ansible.builtin.shell: |
		        $1
		      args: {chdir: "$PWD"}
		      tags: web
	END
}

# play RUNNER [COMMAND]: runs the recipe, or COMMAND, in a shell like cron's. Sets PLAYBOOK, its process id.
play() {
	as_cron "$1" "ANSIBLE_INVENTORY=$PWD/hosts exec ${2-ansible-playbook ansible-locked.yml}" || return
	PLAYBOOK=$!
}

# A task that stays until there is a file `go`, or the test and its folder are gone.
stay='echo {{ inventory_hostname }} >>ran; while test -e hosts && ! test -e go; do sleep 0.05; done; echo done >>ran'

@test "two deploys of the recipe for Ansible run one after the other, and the process ansible-playbook is the holder" {
	local first

	deploy "$stay"
	play background >>said 2>&1
	first=$PLAYBOOK
	wait_until has_lines 2 ran
	run -0 "$FAIRLOCK" status --raw --noheadings -o PID deploy-shop
	assert_output "$first"
	play background >>said 2>&1
	wait_until in_queue deploy-shop 1
	touch go
	ends_with 0 "$first"
	ends_with 0 "$PLAYBOOK"
	assert_equal "$(sort -s ran | uniq -c | tr -s ' \n' ' ')" ' 4 done 2 one 2 two '
	assert_equal "$(sed -n '3,4p' ran | sort -u)" 'done'
	is_free deploy-shop
}

@test "the recipe for Ansible frees the lock when a task fails, on one host or on all of them, and when its controller is killed" {
	deploy 'test {{ inventory_hostname }} = one && fairlock status -q deploy-shop && echo ran >>ran'
	run -2 play command
	assert_line --partial 'Give the lock deploy-shop back'
	has_lines 1 ran
	is_free deploy-shop
	deploy 'fairlock status -q deploy-shop && echo ran >>ran; false'
	run -2 play command
	has_lines 3 ran
	wait_until is_free deploy-shop
	deploy "$stay"
	play background >>said 2>&1
	wait_until has_lines 5 ran
	run -1 is_free deploy-shop
	kill -KILL "$PLAYBOOK"
	wait_until is_free deploy-shop
	touch go
}

@test "the wrap around ansible-playbook stops a deploy with all its processes when the lock is lost" {
	deploy "echo \$\$ >>ran; exec sleep 600"
	play background "$(said_in ansible-locked.yml 'fairlock wrap')" >said 2>&1
	wait_until has_lines 2 ran
	"$FAIRLOCK" release --force deploy-shop
	ends_with 76 "$PLAYBOOK"
	ended "$(sed -n 1p ran)"
	ended "$(sed -n 2p ran)"
}
