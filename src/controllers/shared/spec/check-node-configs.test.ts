import { describe, expect, it } from 'vitest';
import { aSpec } from '../../../../test/support/fixtures/builders.ts';
import type { Addressing } from '../../../engine/addressing.ts';
import { checkNodeConfigs } from './check-node-configs.ts';

type Raw = Record<string, Record<string, unknown>>;
const found = (change: (raw: Raw) => void, addressing: Addressing = { pool: 'main', endpoint: 'virtual-address' }) =>
  checkNodeConfigs(
    aSpec((raw) => change(raw as Raw)),
    addressing,
  );
const worker = (values: object) => (raw: Raw) =>
  Object.assign(raw, { workerPools: [{ name: 'work', replicas: 1, size: 'small', ...values }] });

it('finds no problems in generated configurations', () => {
  expect(found((raw) => void worker({ labels: { a: 'b' } })(raw))).toEqual([]);
});

describe('a patch', () => {
  const patched = (field: 'talos' | 'controlPlane', ...patches: object[]) =>
    found((raw) => void Object.assign(raw[field]!, { patches })).map(
      ({ field: from, message }) => `${from}: ${message}`,
    );

  it('P51: is checked before a Machine exists, on every kind of node', () => {
    expect(patched('talos', { machine: { sysctl: {} } })).toEqual([
      'talos.patches[0]: machine.sysctl does not exist. Correct or remove the patch.',
    ]);
    expect(patched('controlPlane', {}, { machine: { type: 'worker' } })).toEqual([
      'controlPlane.patches[1]: machine.type must stay controlplane: the role of a node is fixed. Correct or remove the patch.',
    ]);
    const wrong = { cluster: { etcd: { image: 'registry.k8s.io/etcd:v3.6.1' } } };
    const findings = found((raw) => void worker({ patches: [wrong] })(raw));
    expect(findings).toEqual([
      expect.objectContaining({
        field: 'workerPools[0].patches[0]',
        message: 'cluster.etcd must not be on a worker. Correct or remove the patch.',
      }),
    ]);
  });

  it('with many mistakes is reported with the first of them', () => {
    const names = Array.from({ length: 9 }, (_, i) => [`wrong${i}`, {}]);
    expect(patched('talos', Object.fromEntries(names)).join()).toMatch(/wrong0 does not exist/);
    const many = patched('controlPlane', { machine: { $patch: 'delete' }, cluster: { $patch: 'delete' } });
    expect(many).toEqual([
      expect.stringMatching(/^controlPlane\.patches\[0\]: .* And \d+ more\. Correct or remove the patch/),
    ]);
  });

  it('that is valid for one version only is rejected if others are offered', () => {
    const image = { machine: { kubelet: { image: 'ghcr.io/siderolabs/kubelet:v1.35.4' } } };
    expect(patched('talos', image).join()).toMatch(/^talos\.patches\[0\]: .*can request 1\.34\.1/);
    const one = (raw: Raw) => Object.assign(raw['kubernetes']!, { versions: [{ version: '1.35.4' }] });
    expect(found((raw) => void [one(raw), Object.assign(raw['talos']!, { patches: [image] })])).toEqual([]);
  });
});

describe('the placeholder hardware', () => {
  const nic = { hardwareAddr: '02:00:00:00:00:00', physical: true };
  const patch = (link: object) => ({ machine: { network: { interfaces: [{ deviceSelector: nic, ...link }] } } });
  const assessed = (addressing: Addressing, link: object) =>
    found((raw) => void Object.assign(raw['talos']!, { patches: [patch(link)] }), addressing).map(
      ({ message }) => message,
    );

  it('matches the platform: the virtual address is in the private network and must stay there', () => {
    const inside: Addressing = { pool: 'private', endpoint: 'virtual-address' };
    const alone: Addressing = { pool: 'none', endpoint: 'first-node' };
    const other = { vlans: [{ vlanId: 4000, vip: { ip: '192.0.2.99' } }] };
    expect(assessed(inside, { vlans: [{ vlanId: 4000, mtu: 1450 }] })).toEqual([]);
    expect(assessed(inside, other)).toEqual([
      expect.stringMatching(/must keep the network card, the addresses and the routes/),
    ]);
    expect(assessed(alone, other)).toEqual([]);
    expect(assessed(alone, { ignore: true })).toEqual([expect.stringMatching(/must keep the network card/)]);
  });
});
