import { describe, expect, it } from 'vitest';
import { TrueNasConfig } from '../../config/config.ts';
import { vmIdentityOf } from '../identity.ts';
import { dataDisksOf, filesystemsOnOtherPools, namedPools, toDisksFact, volumesOf } from './data-disks.ts';

const config = TrueNasConfig.parse({
  url: 'nas.example.org',
  credentialsRef: { name: 'nas' },
  pool: 'tank',
  bridge: 'br0',
  sizes: [
    { name: 'plain', cpus: 2, memoryMiB: 4096, diskGiB: 40 },
    {
      ...{ name: 'storage', cpus: 2, memoryMiB: 4096, diskGiB: 40 },
      disks: [
        { name: 'data', sizeGiB: 50 },
        { name: 'osd-0', sizeGiB: 100, pool: 'fast', raw: true },
        { name: 'cache', sizeGiB: 20, pool: 'fast' },
      ],
    },
  ],
});
const owner = { installation: 'installation-1', provider: 'talos', machine: 'shop-cp-0' };
const subject = (size: string, facts = {}) => ({ owner, config, facts, node: { size } });
const { vmName, dataset } = vmIdentityOf(subject(''));

describe('the data disks of a machine', () => {
  it("are those of its size, each in the machine's dataset on its pool", () => {
    const disks = dataDisksOf(subject('storage'));
    expect(disks.map(({ zvol }) => zvol)).toEqual([
      `tank/talos/${vmName}/disk-data`,
      `fast/talos/${vmName}/disk-osd-0`,
      `fast/talos/${vmName}/disk-cache`,
    ]);
    expect(filesystemsOnOtherPools(disks, dataset)).toEqual([`fast/talos/${vmName}`]);
    expect(dataDisksOf(subject('plain'))).toEqual([]);
  });

  it('are read from its facts as recorded, whatever the sizes are then', () => {
    const disks = dataDisksOf(subject('storage'));
    const facts = { dataset, ...toDisksFact(disks) };
    expect(dataDisksOf(subject('gone', facts))).toEqual(disks);
    expect(dataDisksOf(subject('plain', facts))).toEqual(disks);
  });

  it('are none for a machine from before there were any', () => {
    expect(dataDisksOf(subject('storage', { dataset }))).toEqual([]);
    expect(toDisksFact([])).toEqual({});
  });

  it('become volumes by their index, in which raw ones count', () => {
    expect(volumesOf(dataDisksOf(subject('storage')))).toEqual([
      { name: 'data', device: '/dev/vdb', sizeGiB: 50 },
      { name: 'cache', device: '/dev/vdd', sizeGiB: 20 },
    ]);
  });

  it('report pools with their fields', () => {
    expect(namedPools(config)).toEqual([
      { field: 'truenas.pool', pool: 'tank' },
      { field: 'truenas.sizes[1].disks[1].pool', pool: 'fast' },
      { field: 'truenas.sizes[1].disks[2].pool', pool: 'fast' },
    ]);
  });
});
