import { describe, expect, it } from 'vitest';
import {
  type AcceptedPatches,
  configDocument,
  configProblems,
  deletePatch,
  preparePatchCases,
  renderPatchedConfig,
} from '../../../../test/talos/patch-cases.ts';
import { describeWithTalosctl, validateWithTalosctl } from '../../../../test/talos/talosctl.ts';

preparePatchCases();

/** Typical patches of platform teams. */
const good: readonly AcceptedPatches[] = [
  {
    what: 'Cilium in place of flannel and kube-proxy',
    patches: [
      { cluster: { network: { cni: { name: 'none' } }, proxy: { disabled: true }, coreDNS: { disabled: true } } },
    ],
  },
  {
    what: 'a mirror, with a CA of its own',
    patches: [
      configDocument('RegistryMirrorConfig', {
        name: 'docker.io',
        endpoints: [{ url: 'https://mirror.example.org' }],
        skipFallback: true,
      }),
      configDocument('RegistryTLSConfig', { name: 'mirror.example.org', insecureSkipVerify: true }),
    ],
  },
  {
    what: 'separate documents for name servers and time',
    patches: [
      { machine: { network: { nameservers: deletePatch }, time: deletePatch } },
      configDocument('ResolverConfig', {
        nameservers: [{ address: '192.0.2.1' }],
        searchDomains: { domains: ['example.org'] },
      }),
      configDocument('TimeSyncConfig', { ntp: { servers: ['ntp.example.org'] } }),
    ],
  },
  {
    what: 'volumes, sysctls, modules, a second VLAN and jumbo frames on the node’s own card',
    role: 'worker',
    patches: [
      configDocument('VolumeConfig', { name: 'EPHEMERAL', provisioning: { maxSize: '50GiB' } }),
      configDocument('UserVolumeConfig', {
        name: 'data',
        provisioning: { diskSelector: { match: '!system_disk' }, minSize: '10GiB' },
      }),
      {
        machine: {
          sysctls: { 'vm.max_map_count': '262144' },
          kernel: { modules: [{ name: 'drbd', parameters: ['usermode_helper=disabled'] }] },
          kubelet: {
            extraMounts: [{ destination: '/var/x', type: 'bind', source: '/var/x', options: ['bind', 'rw'] }],
            extraConfig: { maxPods: 200 },
          },
          network: {
            interfaces: [
              {
                deviceSelector: { hardwareAddr: '00:a0:98:11:22:33', physical: true },
                mtu: 9000,
                vlans: [{ vlanId: 5, addresses: ['10.5.0.2/24'] }],
              },
            ],
          },
        },
      },
    ],
  },
  {
    what: 'a firewall',
    patches: [
      configDocument('NetworkDefaultActionConfig', { ingress: 'block' }),
      configDocument('NetworkRuleConfig', {
        name: 'api',
        portSelector: { ports: [6443, '50000-50001'], protocol: 'tcp' },
        ingress: [{ subnet: '192.0.2.0/24' }],
      }),
    ],
  },
  {
    what: 'single sign-on and a more detailed audit log of the API server',
    patches: [
      {
        cluster: {
          apiServer: {
            extraArgs: {
              'oidc-issuer-url': 'https://id.example.org',
              'oidc-client-id': 'kubernetes',
              'oidc-required-claim': 'a=b',
            },
            auditPolicy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Request' }] },
          },
        },
      },
    ],
  },
];

describe('a typical patch of a platform team is accepted', () => {
  it.each(good)('$what', ({ role = 'controlplane', patches }) => {
    expect(configProblems(role, patches)).toEqual([]);
  });

  describeWithTalosctl((talosctl) => {
    it.each(good)('accepts too: $what', ({ role = 'controlplane', patches }) => {
      expect(validateWithTalosctl(talosctl, 'cloud', renderPatchedConfig(role, patches))).toBe('');
    });
  });
});

it('reports no problem for a rendered configuration', () => {
  for (const role of ['controlplane', 'worker'] as const) {
    for (const talosVersion of ['1.12.11', '1.13.9', '1.14.0'])
      expect(configProblems(role, [], { talosVersion })).toEqual([]);
  }
});
