import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import type { ConfigDocument } from '../config-document.ts';
import { findConfigProblems, type MachineConfigInput } from '../machine-config.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const gone = { $patch: 'delete' };
const document = (kind: string, content: ConfigDocument): ConfigDocument => ({
  apiVersion: 'v1alpha1',
  kind,
  ...content,
});

function problems(patches: readonly ConfigDocument[], changes: Partial<MachineConfigInput> = {}) {
  const numbered = patches.map((one, i) => ({ from: `talos.patches[${i}]`, document: one }));
  return findConfigProblems(exampleConfigInput(bundle, { ...changes, patches: numbered }));
}
const sentences = (...args: Parameters<typeof problems>) =>
  problems(...args).map(({ from, message }) => `${from}: ${message}`);

const worker = { role: 'worker' } as const;
const modern = { talosVersion: '1.14.0' };
const rule = (name: string, ports: (number | string)[], protocol = 'tcp') =>
  document('NetworkRuleConfig', { name, portSelector: { ports, protocol }, ingress: [{ subnet: '10.0.0.0/8' }] });
const block = document('NetworkDefaultActionConfig', { ingress: 'block' });

describe('a patch may neither remove a protected field nor set what a ProviderConfig field sets', () => {
  it.each<[string, ConfigDocument, string, Partial<MachineConfigInput>?]>([
    ['a token', { machine: { token: 'abcdef.0123456789abcdef' } }, 'machine.token must not be changed: it is one of'],
    ['no token', { cluster: { token: gone } }, 'cluster.token must not be changed'],
    ['a CA', { machine: { ca: { crt: 'eA==', key: 'eA==' } } }, 'machine.ca.crt must not be changed'],
    ['a CA on a worker', { machine: { ca: { crt: 'eA==' } } }, 'machine.ca.crt must not be changed', worker],
    [
      'another key for etcd',
      { cluster: { secretboxEncryptionSecret: 'eA==' } },
      'secretboxEncryptionSecret must not be changed',
    ],
    [
      'no key for etcd',
      { cluster: { secretboxEncryptionSecret: gone } },
      'secretboxEncryptionSecret must not be changed',
    ],
    ['an identity', { cluster: { id: 'mine' } }, 'cluster.id must not be changed'],
    ['another endpoint', { cluster: { controlPlane: { endpoint: 'https://a:1' } } }, 'use controlPlane.endpoint'],
    ['other Pods', { cluster: { network: { podSubnets: ['10.9.0.0/16'] } } }, 'use network.podSubnets'],
    ['another domain', { cluster: { network: { dnsDomain: 'a.b' } } }, 'use network.dnsDomain', worker],
    ['no network', { cluster: { network: gone } }, 'cluster.network.podSubnets must not be changed'],
    [
      'other Services in a document',
      document('KubeNetworkConfig', { serviceSubnets: ['10.9.0.0/16'] }),
      'use network.serviceSubnets',
      modern,
    ],
    ['P38: another disk', { machine: { install: { disk: '/dev/sdb' } } }, 'machine.install.disk must not be changed'],
    ['a disk by rule', { machine: { install: { diskSelector: { type: 'ssd' } } } }, 'diskSelector must not be changed'],
    ['an erased disk', { machine: { install: { wipe: true } } }, 'machine.install.wipe must not be changed'],
    [
      'a provider id',
      { machine: { kubelet: { extraArgs: { 'provider-id': 'x' } } } },
      'provider-id must not be changed',
    ],
    ['one name for all', document('HostnameConfig', { hostname: 'node' }), 'every node has its own name'],
    ['no name', document('HostnameConfig', gone), 'every node has its own name'],
    [
      'no cards',
      { machine: { network: { interfaces: gone } } },
      'machine.network.interfaces must keep the network card',
    ],
    ['no network at all', { machine: { network: gone } }, 'machine.network.interfaces must keep the network card'],
    [
      'no card of the node',
      { machine: { network: { interfaces: [{ deviceSelector: { physical: true }, ...gone }] } } },
      'machine.network.interfaces[0]: there is no element with this deviceSelector',
    ],
    [
      'another port',
      { cluster: { controlPlane: { localAPIServerPort: 7443 } } },
      'localAPIServerPort must be 6443, the port of the virtual address',
    ],
    [
      'another port in the document of Talos 1.14',
      document('KubeAPIServerConfig', { apiPort: 7443 }),
      'KubeAPIServerConfig.apiPort must be 6443, the port of the virtual address',
      { talosVersion: '1.14.0' },
    ],
    ['another Kubernetes', { machine: { kubelet: { image: 'x/kubelet:v1.36.1' } } }, 'can request 1.35.4'],
    ['a blocked port', block, 'NetworkDefaultActionConfig blocks TCP port 50000'],
    ['a blocked port on a worker', block, 'blocks TCP port 50000', worker],
  ])('%s', (_, patch, text, changes) => {
    const found = sentences([patch], changes);
    expect(found.join('\n')).toContain(text);
    for (const sentence of found) expect(sentence).toMatch(/^talos\.patches\[0\]: .*\.$/);
  });

  it('reports each problem once', () => {
    expect(sentences([{ machine: { ca: gone } }])).toEqual([
      'talos.patches[0]: machine.ca.crt is missing.',
      'talos.patches[0]: machine.ca.key is missing: a control plane signs certificates.',
    ]);
  });
});

describe('a patch that keeps the protected fields is accepted', () => {
  it.each<[string, ConfigDocument[], Partial<MachineConfigInput>?]>([
    ['a firewall with the required ports open', [block, rule('talos', ['49000-50001']), rule('kube', [6443])]],
    ['a firewall with the required port of a worker open', [block, rule('talos', [50000])], worker],
    ['the same value again', [{ machine: { install: { disk: '/dev/vda' } } }]],
    [
      'a second address, route and search domain',
      [
        {
          machine: {
            network: {
              interfaces: [
                {
                  deviceSelector: { hardwareAddr: '00:a0:98:11:22:33', physical: true },
                  addresses: ['10.5.0.2/24'],
                  routes: [{ network: '10.6.0.0/16', gateway: '10.5.0.1' }],
                },
              ],
              searchDomains: ['example.org'],
            },
          },
        },
      ],
    ],
    [
      'another port behind an external endpoint',
      [{ cluster: { controlPlane: { localAPIServerPort: 7443 } } }],
      { vip: '' },
    ],
    [
      'the network in a document, with another mask',
      [
        { cluster: { network: gone } },
        document('KubeNetworkConfig', {
          dnsDomain: 'cluster.local',
          podSubnets: ['10.244.0.0/16'],
          serviceSubnets: ['10.96.0.0/12'],
          nodeCIDRMaskSizeIPv4: 25,
        }),
      ],
      modern,
    ],
    [
      'an image from a private registry',
      [{ machine: { kubelet: { image: 'registry.example.org/kubelet:v1.35.4-slim' } } }],
    ],
  ])('%s', (_, patches, { vip, ...changes } = {}) => {
    const { vip: _vip, ...withoutVip } = exampleConfigInput(bundle, changes);
    const numbered = patches.map((one, i) => ({ from: `talos.patches[${i}]`, document: one }));
    const input = vip === '' ? withoutVip : exampleConfigInput(bundle, changes);
    expect(findConfigProblems({ ...input, patches: numbered })).toEqual([]);
  });
});

describe('of several patches the one that causes the problem is named', () => {
  const fine = { machine: { sysctls: { a: '1' } } };

  it('in any position', () => {
    expect(problems([fine, { persist: false }, fine]).map(({ from }) => from)).toEqual(['talos.patches[1]']);
  });

  it('when it cannot be applied', () => {
    expect(problems([fine, { machine: { udev: gone } }])).toEqual([
      { from: 'talos.patches[1]', message: 'there is no machine.udev to delete.' },
    ]);
  });

  it('when a value becomes invalid, valid and invalid again', () => {
    const toggled = [{ persist: false }, { persist: true }, { persist: false }];
    expect(problems(toggled).map(({ from }) => from)).toEqual(['talos.patches[2]']);
  });

  it('and no patch is named when the base configuration has the problem', () => {
    expect(problems([fine], { nodeLabels: { 'a b': 'c' } })).toEqual([
      { message: 'machine.nodeLabels: a b is not a valid label.' },
    ]);
  });
});

it('shows no value that could be a secret', () => {
  const secret = 'c2VjcmV0';
  const patches = [
    { machine: { token: secret, ca: { crt: secret, key: secret } }, cluster: { secret } },
    { machine: { acceptedCAs: [{ crt: secret, ...gone }] } },
    document('WireguardConfig', { name: 'wg0', privateKey: secret, listenPort: secret }),
  ];
  for (const patch of patches) {
    const found = sentences([patch]);
    expect(found).not.toEqual([]);
    expect(found.join()).not.toContain(secret);
  }
});

describe('a patch of the OIDC trust replaces all of it', () => {
  const probes = ['/livez', '/readyz', '/healthz'].map((path) => ({ path }));
  const trust = {
    issuer: 'https://id.example.org',
    clientIds: ['kube'],
    ...{ usernameClaim: 'sub', usernamePrefix: 'corp:', groupsClaim: 'groups', groupsPrefix: 'corp:' },
  };
  const messages = (configuration: ConfigDocument) => document('KubeAuthenticationConfig', { configuration });
  const own = {
    issuer: { url: 'https://own.example.org', audiences: ['a'] },
    claimMappings: { username: { claim: 'sub', prefix: 'own:' } },
  };
  const refused =
    /^talos\.patches\[0\]: KubeAuthenticationConfig\.configuration\.anonymous must be enabled for \/livez, \/readyz, \/healthz/;

  it.each<[string, ConfigDocument]>([
    ['not set', { jwt: [own] }],
    ['disabled', { anonymous: { enabled: false } }],
    ['with paths, but not enabled', { anonymous: { conditions: probes } }],
    ['enabled for another path only', { anonymous: { enabled: true, conditions: [{ path: '/version' }] } }],
    ['enabled for two of three paths', { anonymous: { enabled: true, conditions: probes.slice(1) } }],
  ])('and is rejected when kubelets cannot check health: anonymous access is %s', (_, configuration) => {
    expect(sentences([messages(configuration)], modern)).toEqual([expect.stringMatching(refused)]);
  });

  it.each<[string, ConfigDocument]>([
    ['as before', { anonymous: { enabled: true, conditions: probes }, jwt: [own] }],
    ['on more paths', { anonymous: { enabled: true, conditions: [...probes, { path: '/version' }] } }],
    ['on all paths, as by default in Kubernetes', { anonymous: { enabled: true } }],
  ])('and is accepted when anonymous access is permitted %s', (_, configuration) => {
    expect(sentences([messages(configuration)], modern)).toEqual([]);
  });

  it('and may not remove the issuers of AccessRequests', () => {
    const config = messages({ anonymous: { enabled: true, conditions: probes }, jwt: [own] });
    expect(sentences([config], { ...modern, trust: [trust] })).toEqual([
      expect.stringMatching(
        /^talos\.patches\[0\]: KubeAuthenticationConfig\.configuration\.jwt must keep https:\/\/id\.example\.org, /,
      ),
    ]);
  });
});
