import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Owner } from '../../../engine/node.ts';
import { Dataset, Vm } from '../api/schema.ts';
import { TrueNasConfig } from '../config/config.ts';
import {
  imageRecordProperties,
  isFullyMarked,
  isOwnDataset,
  isOwnVm,
  markLine,
  markProperties,
  parseImageRecord,
  parseMark,
  reservedMac,
  toVmDescription,
  vmIdentityOf,
} from './identity.ts';

const config = TrueNasConfig.parse({
  url: 'nas.example.org:8443',
  credentialsRef: { name: 'nas' },
  pool: 'tank',
  bridge: 'br0',
  sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }],
});
const owner: Owner = { installation: '6f1c', provider: 'talos', machine: 'shop-cp-0' };
const identity = (change: Partial<Owner> = {}, facts = {}) =>
  vmIdentityOf({ owner: { ...owner, ...change }, config, facts });
const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const owners = fc.record({ installation: fc.uuid(), provider: name, machine: name });
const marks = fc.record({ installation: fc.uuid(), provider: name, machine: name, cluster: fc.uuid() });

const dataset = (properties: { key: string; value: string }[], source = 'LOCAL', comments?: string) =>
  Dataset.parse({
    id: 'tank/talos/x',
    type: 'FILESYSTEM',
    user_properties: Object.fromEntries(properties.map(({ key, value }) => [key, { value, rawvalue: value, source }])),
    ...(comments === undefined ? {} : { comments: { value: comments, rawvalue: comments, source } }),
  });
const vm = (change: object = {}) =>
  Vm.parse({
    id: 5,
    name: identity().vmName,
    description: markLine(owner),
    uuid: identity().uuid,
    vcpus: 1,
    cores: 2,
    threads: 1,
    memory: 4096,
    status: { state: 'STOPPED' },
    ...change,
  });

describe('names', () => {
  it('T16, T39: the card of a reserved address has a MAC that follows from it alone, before any machine exists', () => {
    const facts = { address: '192.168.10.20', assignment: 'DHCP' };
    const reported = (change: Partial<Owner> = {}, more = {}) => identity(change, { ...facts, ...more }).mac;
    expect(reported()).toBe(reservedMac(owner, '192.168.10.20'));
    expect(reported({ machine: 'shop-cp-1' })).toBe(reported());
    const others = [
      reported({ installation: 'x' }),
      reported({ provider: 'x' }),
      reported({}, { address: '192.168.10.21' }),
    ];
    expect(new Set([reported(), identity().mac, ...others]).size).toBe(5);
    expect(identity({}, { mac: '02:00:00:00:00:01' }).mac).toBe('02:00:00:00:00:01');
  });

  it('T16: each card has its own MAC, the same each time', () => {
    const macs = (one: Partial<Owner> = {}) => [identity(one).mac, ...identity(one).furtherMacs];
    expect(macs()).toEqual(macs());
    expect(new Set([...macs(), ...macs({ machine: 'shop-cp-1' })]).size).toBe(2 * macs().length);
    for (const mac of macs()) expect(mac).toMatch(/^02(:[0-9a-f]{2}){5}$/);
  });

  it('T12, S15: are valid for TrueNAS and ZFS, and never the same for two owners', async () => {
    const seen = new Map<string, string>();
    await fc.assert(
      fc.property(owners, (one) => {
        const { vmName, dataset: path, mac, uuid } = vmIdentityOf({ owner: one, config, facts: {} });
        expect(vmName).toMatch(/^[a-z0-9_]{1,50}$/);
        expect(path).toBe(`tank/talos/${vmName}`);
        expect(mac).toMatch(/^02(:[0-9a-f]{2}){5}$/);
        const key = JSON.stringify(one);
        expect(seen.get(uuid) ?? key).toBe(key);
        expect(seen.get(vmName) ?? key).toBe(key);
        seen.set(uuid, key).set(vmName, key);
      }),
    );
  });

  it('T16, S10, S23: differ for installations and providers on one system', () => {
    const names = [identity(), identity({ installation: 'other' }), identity({ provider: 'other' })];
    for (const part of ['vmName', 'uuid', 'mac', 'dataset'] as const) {
      expect(new Set(names.map((one) => one[part])).size).toBe(3);
    }
  });

  it('stay the same when the configuration names another pool later', () => {
    const facts = { vm: 'as_it_was', dataset: 'other/place/as_it_was' };
    expect(identity({}, facts)).toMatchObject({ vmName: 'as_it_was', zvol: 'other/place/as_it_was/boot' });
  });

  it('include the provider id of the node, which identifies the machine', () => {
    expect(identity().providerId).toBe(`truenas://nas.example.org:8443/${identity().uuid}`);
    // As it was before the system got another host name: no machine is replaced because of that.
    const recorded = { providerId: 'truenas://former.example.org/a' };
    expect(identity({}, recorded)).toMatchObject(recorded);
  });
});

describe('the mark', () => {
  it('S43: is parsed from a description, which fits into its column, whatever labels contain', async () => {
    await fc.assert(
      fc.property(fc.oneof(owners, marks), name, name, (one: Owner, namespace, cluster) => {
        const labels = { team: namespace, note: `\n${markLine({ ...one, machine: 'another' })}` };
        const text = toVmDescription(one, { role: 'controlplane', cluster: { namespace, name: cluster }, labels });
        const { cluster: _, ...short } = one;
        expect(parseMark(text)).toEqual(markLine(one).length <= 250 ? one : short);
        expect(text.length).toBeLessThanOrEqual(250);
      }),
    );
  });

  it('T13, S6: on a dataset counts only as a local value: children inherit user properties', () => {
    expect(isOwnDataset(dataset(markProperties(owner)), owner)).toBe(true);
    expect(isOwnDataset(dataset(markProperties(owner), 'INHERITED'), owner)).toBe(false);
    expect(isOwnDataset(dataset([], 'INHERITED', markLine(owner)), owner)).toBe(false);
  });

  it('G8: on a dataset may be in the comment alone: TrueNAS 26 beta drops user properties', () => {
    const only = dataset([], 'LOCAL', markLine(owner));
    expect([isOwnDataset(only, owner), isFullyMarked(only)]).toEqual([true, false]);
  });

  it.each<[Partial<Owner>]>([[{ installation: 'x' }], [{ provider: 'x' }], [{ machine: 'x' }]])(
    'of %j is not ours',
    (change) => {
      const other = { ...owner, ...change };
      expect(isOwnDataset(dataset(markProperties(other)), owner)).toBe(false);
      expect(isOwnVm(vm({ description: markLine(other) }), owner)).toBe(false);
    },
  );

  it('of a Machine of the same name in another Cluster is not ours; one without a Cluster is', () => {
    const [first, again] = ['one', 'two'].map((cluster) => ({ ...owner, cluster }));
    if (!first || !again) throw new Error('there are two');
    for (const mark of [first, again, owner]) {
      const isOurs = mark !== again;
      expect(isOwnDataset(dataset(markProperties(mark)), first)).toBe(isOurs);
      expect(isOwnDataset(dataset([], 'LOCAL', markLine(mark)), first)).toBe(isOurs);
      expect(isOwnVm(vm({ description: markLine(mark) }), first)).toBe(isOurs);
      // For the objects of Machines that do not exist.
      expect(isOwnDataset(dataset(markProperties(mark)), owner)).toBe(true);
    }
  });

  it('T15, G2, S3: on a VM is its UUID: a clone has our description, and an edited VM has not', () => {
    expect(isOwnVm(vm(), owner)).toBe(true);
    expect(isOwnVm(vm({ description: 'edited by hand' }), owner)).toBe(true);
    expect(isOwnVm(vm({ uuid: identity().uuid.toUpperCase() }), owner)).toBe(true);
    expect(isOwnVm(vm({ uuid: 'b1b1b1b1-0000-4000-8000-000000000000' }), owner)).toBe(false);
    expect(isOwnVm(vm({ uuid: null }), owner)).toBe(false);
  });
});

describe('the record of an image', () => {
  it('is parsed exactly', () => {
    const record = { bytes: 314572800, sha256: 'ab' };
    expect(parseImageRecord(dataset(imageRecordProperties(record)))).toEqual(record);
  });

  it('that is incomplete is ignored, so that the image is copied again', () => {
    const [size, ...others] = imageRecordProperties({ bytes: 1, sha256: 'ab' });
    expect(parseImageRecord(dataset(others))).toBeUndefined();
    expect(parseImageRecord(dataset([{ ...size!, value: 'many' }, ...others]))).toBeUndefined();
  });
});
