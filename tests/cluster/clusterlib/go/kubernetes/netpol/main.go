// Enforces the NetworkPolicies of one node with nftables. Whenever a pod, a namespace or a policy changes, it replaces its whole
// table in one transaction.
//
// Traffic of pods passes the hook "forward", also between two pods, because each pod has a route of its own (CNI plugin ptp).
// Traffic to the node passes the hook "input". What the node itself sends, such as the kubelet's probes, is not filtered.
package main

import (
	"flag"
	"fmt"
	"log"
	"os/exec"
	"sort"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networklisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// Changes within this time become one transaction.
const settle = 20 * time.Millisecond

type engine struct {
	pods       corelisters.PodLister
	namespaces corelisters.NamespaceLister
	policies   networklisters.NetworkPolicyLister
}

// One rule of a policy, for either direction.
type rule struct {
	peers []network.NetworkPolicyPeer
	ports []network.NetworkPolicyPort
}

type direction struct {
	kind network.PolicyType
	side string // the address in a packet that is the peer's
	own  string // the address in a packet that is the pod's
}

var directions = []direction{{network.PolicyTypeEgress, "daddr", "saddr"}, {network.PolicyTypeIngress, "saddr", "daddr"}}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func selector(s *meta.LabelSelector) labels.Selector {
	found, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return found
}

func hasAddress(p *core.Pod) bool {
	return p.Status.PodIP != "" && !p.Spec.HostNetwork && p.Status.Phase != core.PodSucceeded && p.Status.Phase != core.PodFailed
}

// The pods that a peer of a policy in namespace selects.
func (e *engine) selected(namespace string, peer network.NetworkPolicyPeer, pods []*core.Pod) (found []*core.Pod) {
	namespaces := map[string]bool{namespace: true}
	if peer.NamespaceSelector != nil {
		namespaces = map[string]bool{}
		list, _ := e.namespaces.List(selector(peer.NamespaceSelector))
		for _, n := range list {
			namespaces[n.Name] = true
		}
	}
	wanted := labels.Everything()
	if peer.PodSelector != nil {
		wanted = selector(peer.PodSelector)
	}
	for _, p := range pods {
		if namespaces[p.Namespace] && wanted.Matches(labels.Set(p.Labels)) {
			found = append(found, p)
		}
	}
	return
}

// The number of a port that is named in pod; 0 if it has no such port.
func number(port intstr.IntOrString, protocol core.Protocol, pod *core.Pod) int {
	if port.Type == intstr.Int {
		return port.IntValue()
	}
	if pod == nil {
		return 0
	}
	for _, c := range append(append([]core.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		for _, p := range c.Ports {
			if p.Name == port.StrVal && (p.Protocol == protocol || p.Protocol == "" && protocol == core.ProtocolTCP) {
				return int(p.ContainerPort)
			}
		}
	}
	return 0
}

// Matches of ports in the words of nft. The server is the pod that has the ports; nil: an address outside.
func ports(list []network.NetworkPolicyPort, server *core.Pod) (out []string) {
	if len(list) == 0 {
		return []string{""}
	}
	for _, p := range list {
		protocol := core.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		name := strings.ToLower(string(protocol))
		if p.Port == nil {
			out = append(out, "meta l4proto "+name)
		} else if n := number(*p.Port, protocol, server); n != 0 && p.EndPort != nil {
			out = append(out, fmt.Sprintf("%s dport %d-%d", name, n, *p.EndPort))
		} else if n != 0 {
			out = append(out, fmt.Sprintf("%s dport %d", name, n))
		}
	}
	return
}

func block(b *network.IPBlock, side string) string {
	if strings.Contains(b.CIDR, ":") {
		return "" // the cluster has IPv4 only
	}
	out := "ip " + side + " " + b.CIDR
	if len(b.Except) > 0 {
		out += " ip " + side + " != { " + strings.Join(b.Except, ", ") + " }"
	}
	return out
}

func rulesOf(policy *network.NetworkPolicy, kind network.PolicyType) (list []rule) {
	if kind == network.PolicyTypeEgress {
		for _, r := range policy.Spec.Egress {
			list = append(list, rule{r.To, r.Ports})
		}
		return
	}
	for _, r := range policy.Spec.Ingress {
		list = append(list, rule{r.From, r.Ports})
	}
	return
}

// The matches of all packets that a rule allows to or from pod.
func (e *engine) matches(pod *core.Pod, namespace string, r rule, d direction, pods []*core.Pod) (out []string) {
	add := func(peer string, other *core.Pod) {
		server := pod
		if d.kind == network.PolicyTypeEgress {
			server = other
		}
		for _, p := range ports(r.ports, server) {
			out = append(out, peer+" "+p)
		}
	}
	if len(r.peers) == 0 {
		add("", nil)
	}
	for _, peer := range r.peers {
		if peer.IPBlock != nil {
			if match := block(peer.IPBlock, d.side); match != "" {
				add(match, nil)
			}
			continue
		}
		for _, other := range e.selected(namespace, peer, pods) {
			add("ip "+d.side+" "+other.Status.PodIP, other)
		}
	}
	return
}

func isolates(policy *network.NetworkPolicy, pod *core.Pod, kind network.PolicyType) bool {
	if policy.Namespace != pod.Namespace || !selector(&policy.Spec.PodSelector).Matches(labels.Set(pod.Labels)) {
		return false
	}
	for _, t := range policy.Spec.PolicyTypes {
		if t == kind {
			return true
		}
	}
	return false
}

// The rules of a pod in one direction; false: no policy isolates it.
func (e *engine) chain(pod *core.Pod, d direction, policies []*network.NetworkPolicy, pods []*core.Pod) (string, bool) {
	isolated := false
	seen := map[string]bool{}
	for _, policy := range policies {
		if !isolates(policy, pod, d.kind) {
			continue
		}
		isolated = true
		for _, r := range rulesOf(policy, d.kind) {
			for _, match := range e.matches(pod, policy.Namespace, r, d, pods) {
				seen[strings.TrimSpace(match)+" counter return comment \""+policy.Name+"\""] = true
			}
		}
	}
	var lines []string
	for line := range seen {
		lines = append(lines, line)
	}
	sort.Strings(lines)
	// No policy keeps a pod from reaching itself through a Service.
	lines = append([]string{"ip saddr " + pod.Status.PodIP + " ip daddr " + pod.Status.PodIP + " return"}, lines...)
	lines = append(lines, "counter drop comment \""+pod.Namespace+"/"+pod.Name+"\"")
	return strings.Join(lines, "\n"), isolated
}

func (e *engine) table() string {
	var pods []*core.Pod
	all, _ := e.pods.List(labels.Everything())
	for _, p := range all {
		if hasAddress(p) {
			pods = append(pods, p)
		}
	}
	sort.Slice(pods, func(i, j int) bool { return pods[i].UID < pods[j].UID })
	policies, _ := e.policies.List(labels.Everything())
	sort.Slice(policies, func(i, j int) bool { return policies[i].UID < policies[j].UID })

	chains, jumps := "", map[network.PolicyType][]string{}
	for n, pod := range pods {
		for _, d := range directions {
			lines, isolated := e.chain(pod, d, policies, pods)
			if isolated {
				name := fmt.Sprintf("%s%d", strings.ToLower(string(d.kind)), n)
				chains += "chain " + name + " {\n" + lines + "\n}\n"
				jumps[d.kind] = append(jumps[d.kind], pod.Status.PodIP+" : jump "+name)
			}
		}
	}
	dispatch := func(d direction) string {
		if len(jumps[d.kind]) == 0 {
			return ""
		}
		return "ip " + d.own + " vmap { " + strings.Join(jumps[d.kind], ", ") + " }\n"
	}
	begin := "type filter hook %s priority 5; policy accept;\nct state established,related accept\n"
	return "table ip netpol {}\ndelete table ip netpol\ntable ip netpol {\n" + chains +
		"chain forward {\n" + fmt.Sprintf(begin, "forward") + dispatch(directions[0]) + dispatch(directions[1]) + "}\n" +
		"chain input {\n" + fmt.Sprintf(begin, "input") + dispatch(directions[0]) + "}\n}\n"
}

func apply(table string) error {
	command := exec.Command("nft", "-f", "-")
	command.Stdin = strings.NewReader(table)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("nft: %v: %s\n%s", err, out, table)
	}
	return nil
}

func main() {
	path := flag.String("kubeconfig", "", "how to reach the API server")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *path)
	check(err)
	client, err := kubernetes.NewForConfig(config)
	check(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, namespaces, policies := factory.Core().V1().Pods(), factory.Core().V1().Namespaces(), factory.Networking().V1().NetworkPolicies()
	e := &engine{pods.Lister(), namespaces.Lister(), policies.Lister()}

	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	}
	for _, informer := range []cache.SharedIndexInformer{pods.Informer(), namespaces.Informer(), policies.Informer()} {
		_, err := informer.AddEventHandler(handler)
		check(err)
	}
	factory.Start(nil)
	factory.WaitForCacheSync(nil)

	last := ""
	for range changed {
		time.Sleep(settle)
		table := e.table()
		if table == last {
			continue
		}
		if err := apply(table); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
			notify()
			continue
		}
		last = table
	}
}
