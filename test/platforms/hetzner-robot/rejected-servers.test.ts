import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostSpecView } from '../../../src/engine/host.ts';
import { InMemoryHosts } from './in-memory-hosts.ts';
import {
  describeVerdict,
  type MachineRecord,
  openRobotPlatformFixture,
  type RobotPlatformFixture,
  rescueKey,
} from './robot-platform-fixture.ts';

interface RejectionCase {
  readonly title: string;
  readonly seed: object;
  readonly words?: Partial<HostSpecView>;
  /** The reason and message of the failure. */
  readonly says: RegExp;
  /** Detected before any reboot. Default: true. */
  readonly early?: boolean;
}

const linux = { kind: 'linux', hostname: 'files', authorizedKeys: [rescueKey.public], hetznerBuild: true };
const raid = { kind: 'raid-member', array: '0' };

/** One server for each, from 3140101 on. */
const cases: readonly RejectionCase[] = [
  {
    title: 'has another address',
    seed: {},
    words: { expect: { address: '203.0.113.9' } },
    says: /^ServerUnfit: .*expects the address 203\.0\.113\.9 .*spec\.expect/,
  },
  {
    title: 'is another product',
    seed: {},
    words: { expect: { product: 'EX44' } },
    says: /^ServerUnfit: .*the product EX44 .*AX42/,
  },
  { title: 'was cancelled', seed: { cancelled: true }, says: /^ServerUnfit: .*was cancelled/ },
  { title: 'has no IPv4 address', seed: { address: null }, says: /^ServerUnfit: .*no IPv4 address/ },
  {
    title: 'carries the ownership mark of another installation',
    seed: { name: 'cpt.aaaaaaaa.shop-cp-0' },
    says: /^OwnedByOthers: .*cpt\.aaaaaaaa/,
  },
  { title: 'is in use by Cluster API', seed: { name: 'bm-worker-7' }, says: /^OwnedByOthers: .*bm-worker-7/ },
  {
    title: 'is in maintenance by now',
    seed: {},
    words: { maintenance: true },
    says: /HOST_IN_MAINTENANCE: .*spec\.maintenance/,
  },
  { title: 'has no rescue system', seed: { offers: ['linux'] }, says: /^NoRescue|ROBOT_NOT_AVAILABLE/ },
  {
    title: 'P17: can only be reset by a technician',
    seed: { resets: ['man'] },
    says: /^NoReset: .*man.*spec\.hetznerRobot\.resetTypes/,
  },
  {
    title: 'H6: holds a foreign Linux',
    seed: { disks: [{ content: linux }] },
    says: /^DiskRefused: .*holds .*spec\.wipe/,
    early: false,
  },
  {
    title: 'holds an array',
    seed: { disks: [{ content: raid }, { content: raid }] },
    says: /^DiskRefused: .*array/,
    early: false,
  },
  {
    title: 'holds Ceph',
    seed: { disks: [{ content: { kind: 'ceph' } }] },
    says: /^DiskRefused: .*holds .*ceph/i,
    early: false,
  },
  {
    title: 'holds volumes',
    seed: { disks: [{ content: { kind: 'lvm', group: 'vg0' } }] },
    says: /^DiskRefused: .*holds .*LVM/i,
    early: false,
  },
  { title: 'has no disk at all', seed: { disks: [] }, says: /^DiskRefused: .*it has none/, early: false },
  {
    title: 'has only a protected disk',
    seed: { disks: [{ serial: 'KEEP1' }] },
    words: { protectedDisks: ['keep1'], wipe: true },
    says: /^DiskRefused: .*spec\.protectedDisks/,
    early: false,
  },
  {
    title: 'has two disks with the same serial number',
    seed: { disks: [{ serial: 'TWIN' }, { serial: 'TWIN' }] },
    says: /^DiskRefused: .*cannot be distinguished/,
    early: false,
  },
  {
    title: 'P22: has an earlier Talos beside its free disk',
    seed: {
      disks: [{}, { sizeBytes: 2_000_000_000_000, content: { kind: 'talos', version: '1.12.4', configured: true } }],
    },
    says: /^DiskRefused: .*earlier Talos/,
    early: false,
  },
];
const numberOf = (index: number): number => 3140101 + index;

let fixture: RobotPlatformFixture;
/** Writes to the server, without those of its own Talos to its own disk. */
const written = (number: number) => fixture.simulator.writes(number).filter(({ by }) => by !== 'talos');

beforeAll(async () => {
  fixture = await openRobotPlatformFixture({
    network: '127.42.193',
    servers: cases.map(({ seed }, index) => ({ number: numberOf(index), ...seed })),
  });
});
afterAll(async () => await fixture?.close());

describe('a server is not touched that', () => {
  it.each(cases.map((one, index) => [one.title, one, numberOf(index)] as const))('%s', async (_, one, number) => {
    fixture.hosts = new InMemoryHosts();
    fixture.hosts.add(number, one.words);
    const durable: MachineRecord = { progress: undefined };
    const verdict = await fixture.start().walk('provision', `shop-${number}`, durable);
    expect(describeVerdict(verdict)).toMatch(one.says);
    expect(written(number)).toEqual([]);
    const server = fixture.simulator.servers().find((candidate) => candidate.number === number);
    if (one.early !== false) expect(server?.bootCount).toBe(1);
    // It can be released without any trace.
    await fixture.hosts.change(number, { maintenance: false });
    const given = await fixture.start().walk('release', `shop-${number}`, durable);
    if (describeVerdict(given) === 'finished') {
      expect(fixture.hosts.of(number).heldBy).toBeUndefined();
      expect(fixture.simulator.server(number).name).toBe((one.seed as { name?: string }).name ?? '');
    } else expect(describeVerdict(given)).toMatch(one.says);
    expect(written(number)).toEqual([]);
  });
});
