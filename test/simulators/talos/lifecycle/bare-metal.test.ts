import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SecretString } from '../../../../src/lib/secret-string.ts';
import { openMaintenanceClient } from '../../../../src/talos/client/maintenance-client.ts';
import { makeSparse, writeAt } from '../../../world/disk-format/sparse-file.ts';
import type { MachineDescription } from '../../../world/machine-runner/machine.ts';
import { DhcpServer } from '../../../world/network/dhcp-server.ts';
import { encodeRawImage, readPartition, writePartition } from '../../../world/talos/boot/disk-partitions.ts';
import {
  connectTalos,
  makeConfig,
  makeSecrets,
  startTalosTestBed,
  type TalosTestBed,
  type TestSecrets,
} from '../testing/talos-test-bed.ts';
import { schematic, talosVersion } from '../testing/test-config.ts';

let world: TalosTestBed;
let secrets: TestSecrets;
/** Of another cluster. */
let old: TestSecrets;
beforeAll(async () => {
  world = await startTalosTestBed();
  secrets = await makeSecrets();
  old = await makeSecrets();
});
afterAll(() => world.close());

const imageOf = (version: string) =>
  encodeRawImage(
    { platform: 'metal', arch: 'amd64', version, schematic, kernelArguments: [], extensions: [] },
    Buffer.alloc(1000, 'kernel'),
  );
const image = imageOf(talosVersion);

let count = 0;

/** A bare-metal server with two drives and an image on the first one. */
function newServer(address: string, change: (machine: MachineDescription) => void = () => {}): MachineDescription {
  count += 1;
  const name = `server-${count}`;
  const base = world.machine(name, null);
  const folder = base.serialLog.replace(/\/[^/]*$/, '');
  const disks = [0, 1].map((index) => {
    const path = `${folder}/nvme${index}.raw`;
    makeSparse(path, 2 ** 30);
    return {
      ...{
        path,
        sizeBytes: 2 ** 30,
        serial: `EX${count}${index}`,
        model: 'EXAMPLE NV960',
        wwn: `eui.00a1b2c3d4e5f60${index}`,
      },
      ...{ order: index, bus: 'nvme' as const, rotational: false },
    };
  });
  writeAt(disks[0]?.path ?? '', 0, image);
  const dhcp = { address, prefix: 26, gateway: '127.42.0.1' };
  const nics = [
    { ...base.nics[0]!, dhcp },
    { ...base.nics[0]!, mac: base.nics[0]!.mac.replace(/^02/, '06') },
  ];
  const machine = { ...base, cdroms: [], disks, nics };
  change(machine);
  return machine;
}

async function awaitApi(machine: MachineDescription): Promise<void> {
  await world.until('an answering API', () => world.runner.node(machine.name)?.listening);
}

const configOf = (machine: MachineDescription, address: string, more: Readonly<Record<string, unknown>> = {}): string =>
  makeConfig({
    ...{ secrets, role: 'controlplane', hostname: machine.name, mac: machine.nics[0]?.mac ?? '', address },
    ...{ endpoint: `https://${address}:6443`, factory: world.factory.place },
    machine: { install: { disk: `/dev/disk/by-id/nvme-${machine.disks[0]?.wwn}`, wipe: false }, ...more },
  });

describe('a disk that a raw image was written to', () => {
  it('boots into maintenance mode at its DHCP address, with only the loader for its firmware', async () => {
    const address = world.address();
    const machine = newServer(address);
    world.start(machine);
    await awaitApi(machine);
    const node = world.runner.node(machine.name);
    expect([node?.stage, node?.platform, node?.addresses]).toEqual(['maintenance', 'metal', [address]]);
    expect(readPartition(machine.disks[0]?.path ?? '', 'BOOT')?.firmware).toBe('uefi');
    const client = await connectTalos(address);
    await expect(client.machine.reboot({})).rejects.toThrow(/permission|authorized/i);
    expect((await client.machine.version({})).messages[0]?.version?.tag).toBe(`v${talosVersion}`);
    client.close();
  });

  it.each(['1.12.11', talosVersion, '1.14.0'])(
    "gets its configuration from the product's client on Talos %s",
    async (version) => {
      const address = world.address();
      const machine = newServer(address);
      writeAt(machine.disks[0]?.path ?? '', 0, imageOf(version));
      world.start(machine);
      const ca = secrets.os.authority.pem;
      const client = openMaintenanceClient({ address, ca, signal: AbortSignal.timeout(20_000) });
      await world.until('maintenance mode', async () => (await client.stage()) === 'maintenance');
      expect(await client.macs()).toEqual(machine.nics.map(({ mac }) => mac));
      await expect(client.apply(new SecretString('version: v1alpha1\nnothing: of this\n'))).rejects.toMatchObject({
        code: 'TALOS_CONFIG_REFUSED',
      });
      const config = new SecretString(configOf(machine, address).replaceAll('v1.36.3', 'v1.35.4'));
      // The answer may be lost when the port closes.
      await client.apply(config).catch((error) => expect(error.code).toBe('TALOS_UNREACHABLE'));
      await world.until('a configured node', async () => (await client.stage()) === 'configured');
      await client.close();
      const foreign = openMaintenanceClient({
        address,
        ca: old.os.authority.pem,
        signal: AbortSignal.timeout(20_000),
      });
      await expect(foreign.stage()).rejects.toMatchObject({ code: 'TALOS_FOREIGN_NODE' });
      await foreign.close();
    },
  );

  it('reports the identifiers of its drives, so that they are found under other names, too', async () => {
    const address = world.address();
    const machine = newServer(address);
    world.start(machine);
    await awaitApi(machine);
    const client = await connectTalos(address);
    const { resource } = await client.state.get({ namespace: 'runtime', type: 'Disks.block.talos.dev', id: 'nvme0n1' });
    const yaml = Buffer.from(resource?.spec?.yamlSpec ?? '').toString();
    expect(yaml).toMatch(/model: EXAMPLE NV960[\s\S]*wwid: eui\.00a1b2c3d4e5f600/);
    client.close();
  });

  it('is an unreachable node without an answer from DHCP', async () => {
    const machine = newServer(world.address(), (made) => {
      Object.assign(made, { nics: made.nics.map(({ dhcp: _, ...nic }) => nic) });
    });
    const running = world.start(machine);
    await world.until('the reason', () => running.stuck?.includes('no network link has an address'));
  });
});

it('comes up without a restart when DHCP answers later', async () => {
  const [address, gateway] = [world.address(), '127.42.0.1'];
  const server = new DhcpServer({ prefix: 8, gateway });
  const machine = newServer(address, (made) => {
    const [first] = made.nics;
    const asking = Object.defineProperty({ ...first! }, 'dhcp', { get: () => server.offer(first!.mac) });
    Object.assign(made, { nics: [asking] });
  });
  const running = world.start(machine);
  await world.until('the reason', () => running.stuck?.includes('no network link has an address'));
  server.reserve(machine.nics[0]!.mac, address);
  await awaitApi(machine);
  expect(running.stuck).toBeUndefined();
  expect(world.runner.node(machine.name)?.addresses).toEqual([address]);
});

it("starts no kubelet when the kubelet's subnets match no address", async () => {
  const [address, other] = [world.address(), world.address()];
  const machine = newServer(address);
  world.start(machine);
  await awaitApi(machine);
  const kubelet = { nodeIP: { validSubnets: [`${other}/32`] } };
  const foreign = await connectTalos(address);
  await foreign.machine
    .applyConfiguration({ data: Buffer.from(configOf(machine, address, { kubelet })) })
    .catch(() => {});
  foreign.close();
  const console = () => world.runner.node(machine.name)?.console.join() ?? '';
  await world.until('a kubelet that waits', () => console().includes('waiting for node IPs'));
});

describe('a bare-metal server in networks of its own', () => {
  const gateway = '127.42.0.1';
  const routes = [
    { network: `${gateway}/32` },
    { network: '0.0.0.0/0', gateway },
    { network: '::/0', gateway: 'fe80::1' },
  ];

  /** A server whose configuration has this interface. */
  async function configured(address: string, link: (selector: object) => object, extra: readonly object[] = []) {
    const machine = newServer(address);
    world.start(machine);
    await awaitApi(machine);
    const selector = { hardwareAddr: machine.nics[0]?.mac, physical: true };
    const config = configOf(machine, address, { network: { interfaces: [link(selector), ...extra] } });
    const foreign = await connectTalos(address);
    // The answer may be lost when the port closes.
    await foreign.machine.applyConfiguration({ data: Buffer.from(config) }).catch(() => {});
    foreign.close();
    await world.until('a configuration', () => world.runner.node(machine.name)?.stage !== 'maintenance');
    return machine;
  }

  it('answers at its own and at its private address, and its control planes share a virtual IP there', async () => {
    const [address, inside, vip] = [world.address(), world.address(), world.address()];
    const addresses = [`${address}/32`, '2001:db8:7a:11c::1/64'];
    const vlans = [{ vlanId: 4000, addresses: [`${inside}/16`], mtu: 1400, vip: { ip: vip } }];
    const floating = { interface: 'lo', addresses: ['198.51.100.7/32'] };
    const link = (deviceSelector: object) => ({ deviceSelector, dhcp: false, addresses, routes, vlans });
    const machine = await configured(address, link, [floating]);
    const admin = await connectTalos(inside, secrets);
    await world.until('an answer inside', async () => (await admin.machine.version({})).messages.length > 0);
    expect(world.runner.node(machine.name)?.addresses).toEqual([address, inside]);
    const get = async (type: string, id: string) => {
      const { resource } = await admin.state.get({ namespace: 'network', type, id });
      return Buffer.from(resource?.spec?.yamlSpec ?? '').toString();
    };
    expect(await get('LinkStatuses.net.talos.dev', 'enp1s0.4000')).toMatch(
      /mtu: 1400[\s\S]*kind: vlan[\s\S]*vlanID: 4000/,
    );
    expect(await get('AddressStatuses.net.talos.dev', 'enp1s0/2001:db8:7a:11c::1/64')).toContain('family: inet6');
    await world.until('a bootstrap', async () => (await admin.machine.bootstrap({})).messages.length > 0);
    await world.until('the shared address', () => get('AddressStatuses.net.talos.dev', `enp1s0.4000/${vip}/32`));
    admin.close();
    const client = openMaintenanceClient({
      address: vip,
      ca: secrets.os.authority.pem,
      signal: AbortSignal.timeout(20_000),
    });
    expect(await client.stage()).toBe('configured');
    await client.close();
  });

  it('H33: is unreachable when no route leads to the gateway of a /32 address', async () => {
    const address = world.address();
    const [, ...without] = routes;
    const link = (deviceSelector: object) => ({ deviceSelector, addresses: [`${address}/32`], routes: without });
    const machine = await configured(address, link);
    await world.until('no address', () => world.runner.node(machine.name)?.addresses.length === 0);
  });

  it('P31: has no private network when the selector matches the VLANs that it creates', async () => {
    const [address, inside] = [world.address(), world.address()];
    const vlans = [{ vlanId: 4000, addresses: [`${inside}/16`] }];
    const link = ({ hardwareAddr }: { hardwareAddr?: string }) => ({
      ...{ deviceSelector: { hardwareAddr }, addresses: [`${address}/32`], routes, vlans },
    });
    const machine = await configured(address, link);
    await world.until('its own address', () => world.runner.node(machine.name)?.addresses.join() === address);
  });
});

describe('the remains of an earlier installation', () => {
  const oldConfig = (machine: MachineDescription, address: string): string =>
    makeConfig({
      ...{ secrets: old, role: 'controlplane', hostname: 'old', mac: machine.nics[0]?.mac ?? '', address },
      ...{ endpoint: `https://${address}:6443`, factory: world.factory.place },
    });

  it('in STATE boot: the old system answers with its own certificates, and there is no maintenance mode', async () => {
    const address = world.address();
    const machine = newServer(address);
    const path = machine.disks[0]?.path ?? '';
    writePartition(path, 'STATE', { nodeId: 'old', config: oldConfig(machine, address) });
    writeAt(path, 0, image);
    world.start(machine);
    await awaitApi(machine);
    const foreign = await connectTalos(address);
    await expect(foreign.machine.applyConfiguration({})).rejects.toThrow(/certificate|closed|ECONN|socket/i);
    foreign.close();
    const admin = await connectTalos(address, old);
    expect((await admin.machine.version({})).messages).toHaveLength(1);
    admin.close();
  });

  it('on another disk with a lower name are the system disk, whichever disk was booted', async () => {
    const address = world.address();
    const machine = newServer(address);
    const [fresh, other] = machine.disks;
    writePartition(other?.path ?? '', 'META', { tags: {} });
    writePartition(other?.path ?? '', 'STATE', { nodeId: 'old', config: oldConfig(machine, address) });
    // Talos numbers the drives in the opposite order.
    const disks = [
      { ...fresh!, kernelName: 'nvme1n1' },
      { ...other!, kernelName: 'nvme0n1' },
    ];
    world.start({ ...machine, disks });
    await awaitApi(machine);
    expect(world.runner.node(machine.name)).toMatchObject({ hostname: 'old', addresses: [address] });
  });
});
