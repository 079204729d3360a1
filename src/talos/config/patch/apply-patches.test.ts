import { describe, expect, it } from 'vitest';
import type { ConfigDocument } from '../config-document.ts';
import { applyPatches } from './apply-patches.ts';

const main: ConfigDocument = {
  version: 'v1alpha1',
  machine: {
    type: 'worker',
    certSANs: ['a'],
    sysctls: { one: '1' },
    kubelet: { image: 'k:v1', extraArgs: { flag: 'on', other: 'x' } },
    network: {
      interfaces: [
        { deviceSelector: { hardwareAddr: 'aa', physical: true }, addresses: ['1'], vlans: [{ vlanId: 5, mtu: 1 }] },
        { interface: 'eth1', addresses: ['2'] },
      ],
    },
  },
  cluster: {
    network: { podSubnets: ['p'], serviceSubnets: ['s'] },
    apiServer: {
      admissionControl: [{ name: 'A', configuration: { x: 1 } }],
      auditPolicy: { rules: [1], kind: 'Policy' },
    },
  },
};
const host: ConfigDocument = { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: 'n' };
const rule: ConfigDocument = {
  apiVersion: 'v1alpha1',
  kind: 'NetworkRuleConfig',
  name: 'r',
  portSelector: { ports: [1], protocol: 'tcp' },
  ingress: [{ subnet: '10.0.0.0/8' }],
};

const patch = (...documents: ConfigDocument[]) =>
  applyPatches(
    [main, host, rule],
    documents.map((document, i) => ({ from: `talos.patches[${i}]`, document })),
    '1.13.9',
  );
const patched = (document: ConfigDocument) => patch(document)[0] as never as typeof mainShape;
const mainShape = { machine: {} as Record<string, never>, cluster: {} as Record<string, never> };
const machine = (content: ConfigDocument) => patched({ machine: content }).machine as never;

describe('a strategic merge patch, as in Talos', () => {
  it.each<[string, ConfigDocument, unknown]>([
    ['adds a key to a map', { sysctls: { two: '2' } }, { sysctls: { one: '1', two: '2' } }],
    ['replaces a scalar', { kubelet: { image: 'k:v2' } }, { kubelet: { image: 'k:v2' } }],
    ['keeps a scalar that is empty in the patch', { kubelet: { image: '' } }, { kubelet: { image: 'k:v1' } }],
    [
      'keeps every value that is null in the patch',
      { kubelet: null, sysctls: { one: null } },
      { sysctls: { one: '1' } },
    ],
    ['appends to a list', { certSANs: ['b', 'a'] }, { certSANs: ['a', 'b', 'a'] }],
    [
      'keeps false, which is not empty',
      { kubelet: { registerWithFQDN: false } },
      { kubelet: { registerWithFQDN: false } },
    ],
    [
      'sets arguments one by one, also to an empty text',
      { kubelet: { extraArgs: { flag: '' } } },
      { kubelet: { extraArgs: { flag: '', other: 'x' } } },
    ],
    [
      'sets an argument to a list',
      { kubelet: { extraArgs: { flag: ['a', 'b'] } } },
      { kubelet: { extraArgs: { flag: ['a', 'b'], other: 'x' } } },
    ],
    ['adds a missing section', { udev: { rules: ['r'] } }, { udev: { rules: ['r'] } }],
  ])('%s', (_, content, expected) => {
    expect(machine(content)).toMatchObject(expected as object);
  });

  it('merges interfaces with the same selector, in any order of its keys, and with the same name', () => {
    const interfaces = [
      {
        deviceSelector: { physical: true, hardwareAddr: 'aa' },
        mtu: 9000,
        vlans: [{ vlanId: 5, dhcp: true }, { vlanId: 6 }],
      },
      { interface: 'eth1', addresses: ['3'] },
      { deviceSelector: { hardwareAddr: 'aa' }, mtu: 1400 },
    ];
    expect(machine({ network: { interfaces } })['network']).toEqual({
      interfaces: [
        {
          deviceSelector: { hardwareAddr: 'aa', physical: true },
          addresses: ['1'],
          vlans: [{ vlanId: 5, mtu: 1, dhcp: true }, { vlanId: 6 }],
          mtu: 9000,
        },
        { interface: 'eth1', addresses: ['2', '3'] },
        { deviceSelector: { hardwareAddr: 'aa' }, mtu: 1400 },
      ],
    });
  });

  it('replaces subnets, port lists and policies, which cannot be combined', () => {
    const { cluster } = patched({
      cluster: {
        network: { podSubnets: ['q'] },
        apiServer: {
          auditPolicy: { rules: [2] },
          admissionControl: [{ name: 'A', configuration: { y: 2 } }, { name: 'B' }],
        },
      },
    });
    expect(cluster).toEqual({
      network: { podSubnets: ['q'], serviceSubnets: ['s'] },
      apiServer: {
        auditPolicy: { rules: [2] },
        admissionControl: [{ name: 'A', configuration: { x: 1, y: 2 } }, { name: 'B' }],
      },
    });
    const [, , changed] = patch({ ...rule, portSelector: { ports: [2, 3] }, ingress: [{ subnet: '10.1.0.0/16' }] });
    expect(changed).toMatchObject({
      portSelector: { ports: [2, 3], protocol: 'tcp' },
      ingress: [{ subnet: '10.1.0.0/16' }],
    });
  });

  it('matches documents by kind and name', () => {
    const other = { ...rule, name: 'other' };
    expect(patch(other, { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: 'm' })).toEqual([
      main,
      { ...host, hostname: 'm' },
      rule,
      other,
    ]);
  });

  it('applies one patch after the other and changes none of its inputs', () => {
    const before = JSON.stringify(main);
    const [result] = patch({ machine: { sysctls: { a: '1' } } }, { machine: { sysctls: { a: '2' } } });
    expect(result).toMatchObject({ machine: { sysctls: { one: '1', a: '2' } } });
    expect(JSON.stringify(main)).toBe(before);
  });
});

describe('$patch: delete', () => {
  const gone = { $patch: 'delete' };

  it('removes a key, a list element by its first other key, and a whole document', () => {
    expect(machine({ sysctls: gone })).not.toHaveProperty('sysctls');
    const { interfaces } = machine({ network: { interfaces: [{ interface: 'eth1', ...gone }] } })['network'] as never;
    expect(interfaces).toHaveLength(1);
    expect(patch({ apiVersion: 'v1alpha1', kind: 'NetworkRuleConfig', name: 'r', ...gone })).toEqual([main, host]);
  });

  it.each<[string, ConfigDocument, string]>([
    ['a missing key', { machine: { udev: gone } }, 'there is no machine.udev to delete'],
    ['a key below a missing key', { machine: { udev: { rules: gone } } }, 'there is no machine.udev.rules'],
    ['a missing element', { machine: { network: { interfaces: [{ interface: 'x', ...gone }] } } }, 'interface: x'],
    ['an element without a key', { machine: { network: { interfaces: [gone] } } }, 'which element to delete'],
    [
      'a part of an element',
      { machine: { network: { interfaces: [{ interface: 'eth1', vip: gone }] } } },
      'inside a list element',
    ],
    [
      'a missing document',
      { apiVersion: 'v1alpha1', kind: 'DHCPv4Config', name: 'x', ...gone },
      'there is no DHCPv4Config x',
    ],
    ['the main document', gone, 'cannot be deleted'],
  ])('refuses to delete %s', (_, document, message) => {
    expect(() => patch(document)).toThrowError(
      expect.objectContaining({ code: 'TALOS_PATCH_INVALID', message: expect.stringContaining(message) }),
    );
  });

  it('is the only valid $patch directive', () => {
    expect(() => patch({ machine: { sysctls: { $patch: 'replace' } } })).toThrow(
      'the only supported value of $patch is delete',
    );
  });
});

describe('a patch that Talos cannot read', () => {
  it.each<[string, ConfigDocument, string]>([
    ['an unknown key at the top', { machin: {} }, 'machin does not exist'],
    ['an unknown key deep down', { machine: { kubelet: { imag: 'x' } } }, 'machine.kubelet.imag does not exist'],
    [
      'an unknown key in a list',
      { machine: { network: { interfaces: [{ mac: 'x' }] } } },
      'machine.network.interfaces[0].mac',
    ],
    [
      'an unknown kind',
      { apiVersion: 'v1alpha1', kind: 'HostNameConfig' },
      'kind HostNameConfig is not one that Talos 1.13 knows',
    ],
    ['a kind of a later Talos', { apiVersion: 'v1alpha1', kind: 'KubeAPIServerConfig' }, 'it exists since Talos 1.14'],
    [
      'a kind named like a property of every object',
      { apiVersion: 'v1alpha1', kind: 'constructor' },
      'kind constructor',
    ],
    ['no apiVersion', { kind: 'HostnameConfig', hostname: 'x' }, 'HostnameConfig needs apiVersion: v1alpha1'],
    [
      'an unknown field of a kind',
      { apiVersion: 'v1alpha1', kind: 'HostnameConfig', name: 'x' },
      'HostnameConfig x: name does not exist',
    ],
    ['a map in place of a list', { machine: { certSANs: { a: 1 } } }, 'machine.certSANs must be a list'],
    ['a number in place of a text', { machine: { kubelet: { image: 5 } } }, 'machine.kubelet.image is a string'],
    ['a JSON patch', [] as never, 'JSON patches are not supported'],
  ])('is rejected with patch and path: %s', (_, document, message) => {
    expect(() => patch({ machine: {} }, document)).toThrowError(
      expect.objectContaining({
        message: expect.stringMatching(new RegExp(`talos\\.patches\\[1\\]: .*${literally(message)}`)),
      }),
    );
  });
});

const literally = (text: string): string => text.replace(/[.[\]]/g, '\\$&');
