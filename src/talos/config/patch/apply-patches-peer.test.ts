import { beforeAll, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import { describeWithTalosctl, runTalosctl } from '../../../../test/talos/talosctl.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import { type ConfigDocument, isRecord } from '../config-document.ts';
import { buildConfigDocuments } from '../machine-config.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const gone = { $patch: 'delete' };
// Without `physical`, which talosctl 1.13.9 compares by address, so that two equal selectors are never the same to it.
const own = { deviceSelector: { driver: 'virtio_net' } };
const document = (kind: string, content: ConfigDocument): ConfigDocument => ({
  apiVersion: 'v1alpha1',
  kind,
  ...content,
});

const patches: readonly (readonly [string, readonly ConfigDocument[]])[] = [
  [
    'scalars, maps and lists',
    [
      { machine: { certSANs: ['a', 'b'], sysctls: { x: '1' }, install: { wipe: true } } },
      { machine: { certSANs: ['a'], sysctls: { x: '', y: '2' } } },
    ],
  ],
  [
    'arguments',
    [
      { machine: { kubelet: { extraArgs: { 'provider-id': 'x', v: '4' } } } },
      { cluster: { apiServer: { extraArgs: { a: 'b' } } } },
    ],
  ],
  [
    'an interface of the same selector',
    [
      { machine: { network: { interfaces: [{ ...own, addresses: ['10.0.0.8/24'] }] } } },
      {
        machine: {
          network: {
            interfaces: [
              {
                ...own,
                mtu: 9000,
                addresses: ['10.0.0.9/24'],
                routes: [{ network: '10.9.0.0/16', gateway: '10.0.0.1' }],
              },
            ],
          },
        },
      },
    ],
  ],
  [
    'VLANs of the same number',
    [
      { machine: { network: { interfaces: [{ ...own, vlans: [{ vlanId: 5, mtu: 1400 }] }] } } },
      { machine: { network: { interfaces: [{ ...own, vlans: [{ vlanId: 5, dhcp: true }, { vlanId: 6 }] }] } } },
    ],
  ],
  ['another interface', [{ machine: { network: { interfaces: [{ interface: 'eth1', dhcp: true }] } } }]],
  [
    'subnets',
    [{ cluster: { network: { podSubnets: ['10.1.0.0/16'], serviceSubnets: ['10.2.0.0/16', 'fd00::/108'] } } }],
  ],
  [
    'admission plug-ins and the audit policy',
    [
      {
        cluster: {
          apiServer: {
            admissionControl: [
              {
                name: 'PodSecurity',
                configuration: { defaults: { enforce: 'privileged' }, exemptions: { namespaces: ['more'] } },
              },
              { name: 'Other', configuration: { a: 1 } },
            ],
            auditPolicy: { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'None' }] },
          },
        },
      },
    ],
  ],
  [
    'documents of the same name',
    [
      document('NetworkRuleConfig', {
        name: 'r',
        portSelector: { ports: [1], protocol: 'tcp' },
        ingress: [{ subnet: '10.0.0.0/8' }],
      }),
      document('NetworkRuleConfig', {
        name: 'r',
        portSelector: { ports: [2], protocol: 'tcp' },
        ingress: [{ subnet: '10.1.0.0/16' }],
      }),
    ],
  ],
  [
    'deleted keys',
    [{ machine: { time: gone, network: { nameservers: gone } } }, { cluster: { apiServer: { auditPolicy: gone } } }],
  ],
  ['deleted elements', [{ cluster: { apiServer: { admissionControl: [{ name: 'PodSecurity', ...gone }] } } }]],
  ['a deleted document', [document('HostnameConfig', gone)]],
  [
    'a deleted and a new part at once',
    [{ machine: { time: gone, features: { hostDNS: { resolveMemberNames: true } }, nodeLabels: { a: 'b' } } }],
  ],
];

/** Removes empty values, which both sides omit, and sorts the keys. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, plain(one)] as const);
  const empty = (one: unknown) =>
    (Array.isArray(one) && one.length === 0) || (isRecord(one) && Object.keys(one).length === 0);
  return Object.fromEntries(entries.filter(([, one]) => !empty(one)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

describeWithTalosctl((talosctl) => {
  it.each(patches)('patches as talosctl does: %s', (_, list) => {
    const input = exampleConfigInput(bundle);
    const text = (documents: readonly ConfigDocument[]) =>
      documents
        .map((one) =>
          stringify(one, {
            lineWidth: 0,
            aliasDuplicateObjects: false,
            defaultStringType: 'QUOTE_DOUBLE',
            defaultKeyType: 'PLAIN',
          }),
        )
        .join('---\n');
    const files = Object.fromEntries(list.map((one, i) => [`${i}.yaml`, text([one])]));
    const args = list.flatMap((_one, i) => ['--patch', `@${i}.yaml`]);
    const base = text(buildConfigDocuments(input));
    const theirs = runTalosctl(talosctl, ['machineconfig', 'patch', 'base.yaml', ...args], {
      ...files,
      'base.yaml': base,
    });
    const ours = buildConfigDocuments({ ...input, patches: list.map((one, i) => ({ from: `${i}`, document: one })) });
    expect(ours.map(plain)).toEqual(parseAllDocuments(theirs).map((one) => plain(one.toJS())));
  });
});
