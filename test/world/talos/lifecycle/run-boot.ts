import { createHash } from 'node:crypto';
import { resetConnectionsOnPort } from '../api/grpc-server.ts';
import { openApi, openMaintenanceApi } from '../api/open-api.ts';
import { acquireConfig, applyNetworkConfig, findCloudData } from '../boot/acquire-config.ts';
import { readPartition, writePartition } from '../boot/disk-partitions.ts';
import { createPartitionTable, findInstallDisk, writeBootPartition } from '../boot/installer.ts';
import { metaKeys, metaTag, revertUpgrade, setMetaTag } from '../boot/system-slots.ts';
import { talosApiPort } from '../environment.ts';
import { runApiServer } from '../kubernetes/api-server.ts';
import { runEtcd } from '../kubernetes/etcd.ts';
import { runKubelet } from '../kubernetes/kubelet.ts';
import { runStaticPods } from '../kubernetes/static-pods.ts';
import { runDiscovery } from '../network/discovery.ts';
import { runSharedAddress } from '../network/shared-address.ts';
import { serveTrustd } from '../network/trustd.ts';
import type { BootOutcome, TalosNode } from '../node.ts';
import { publishResources, publishSystemDisk } from '../state/publish-resources.ts';
import { timings } from '../timings.ts';
import { type InstallRun, pullInstaller } from './run-installer.ts';
import { installStaged, takeStagedImage } from './upgrade-sequences.ts';

/** Runs one boot to its end. Rejects at power-off. */
export async function runBoot(node: TalosNode): Promise<BootOutcome> {
  node.world.nodes.add(node);
  let inOrder = false;
  try {
    node.spawn('boot', () => bootNode(node));
    const cut = new Promise<never>((_, reject) =>
      node.signal.addEventListener('abort', () => reject(node.signal.reason)),
    );
    const ending = await Promise.race([node.ending, cut]);
    inOrder = true;
    return ending;
  } finally {
    node.world.nodes.delete(node);
    await node.close(inOrder);
  }
}

async function bootNode(node: TalosNode): Promise<void> {
  node.log(`booting Talos v${node.image.version} (${node.platform}) from ${node.bootedFrom}`);
  await node.sleep(timings[node.kind] * 0.7);
  if (await failsToStart(node)) return;
  node.services.run('machined', 'udevd', 'auditd', 'syslogd', 'containerd', 'dashboard');
  dropUnusedLoader(node);
  if (haltsBecauseInstalled(node)) {
    node.hang(
      'Talos is already installed to disk but booted from another media and talos.halt_if_installed kernel parameter is set. Please reboot from the disk.',
    );
    return;
  }
  if (hangsInNocloudBoot(node) || node.world.switchboard.pass('boot', 'acquire', { node: node.machine.name })) {
    node.hang('downloading config: the boot hangs before maintenance mode; a power cycle helps');
    await resetConnections(node);
    return;
  }
  const acquired = await acquireConfig(node);
  if (acquired.config !== undefined) {
    node.setConfig(acquired.config);
    node.log(`configuration from ${acquired.source}`);
  }
  applyNetworkConfig(node);
  publishResources(node);
  if (node.addresses.length === 0) {
    node.hang(
      'no network link has an address: nothing answers (there is no DHCP server, or no link matches the configuration)',
    );
    if (!node.links.some(({ dhcp }) => dhcp)) return;
    await awaitDhcpLease(node);
  }
  const stopResetting = await resetConnections(node);
  await node.sleep(timings[node.kind] * 0.3);
  await stopResetting();
  if (node.stuck) return;
  if (!node.config) await runMaintenance(node);
  applyNetworkConfig(node);
  publishResources(node);
  await runConfigured(node);
}

/**
 * A system that a test declared broken. A fatal error of Talos reverts an upgrade and reboots; a kernel that hangs stays
 * silent (talos: internal/app/machined/main.go).
 */
async function failsToStart(node: TalosNode): Promise<boolean> {
  const { version, schematic } = node.image;
  const failure = node.world.brokenSystems.get(version) ?? node.world.brokenSystems.get(schematic);
  if (failure === 'hangs') node.hang(`the kernel of Talos v${version} hangs before Talos starts`);
  if (failure === 'ends') {
    node.log('fatal sequencer error');
    revertUpgrade(node);
    await node.sleep(timings.fatalPause);
    node.end('reboot');
  }
  return failure !== undefined;
}

/** A DHCP client never stops retrying (talos: controllers/network/operator/dhcp4.go). */
async function awaitDhcpLease(node: TalosNode): Promise<void> {
  while (node.addresses.length === 0) {
    await node.sleep(timings.dhcpRetry);
    applyNetworkConfig(node);
  }
  node.stuck = undefined;
  publishResources(node);
}

/** Maintenance mode until a configuration is applied. */
async function runMaintenance(node: TalosNode): Promise<void> {
  node.setStage('maintenance');
  const { configured, close } = await openMaintenanceApi(node);
  await configured;
  await node.sleep(timings.tlsFlip);
  await close();
}

/** From a configuration to the end of the boot. */
async function runConfigured(node: TalosNode): Promise<void> {
  runDiscovery(node);
  const installs = node.systemDisk === undefined && requiresInstall(node);
  if (installs) node.setStage('installing');
  const api = openApi(node);
  // A control plane signs its own certificate; a worker's API starts when a control plane has signed its certificate.
  if (node.isControlPlane) await api;
  else api.catch(() => {});
  if (installs) return install(node, (run) => installFirst(node, run));
  const staged = takeStagedImage(node);
  if (staged !== undefined) return install(node, (run) => installStaged(node, staged, run));
  persistState(node);
  await startServices(node);
}

/** Metal and nocloud install from a disc; without install instructions Talos 1.14 runs from memory. */
const requiresInstall = (node: TalosNode): boolean => node.config?.view.install !== undefined || node.minor < 14;

/** The install sequence, in the boot from a disc and in the boot after a staged upgrade. */
async function install(node: TalosNode, work: (run: InstallRun) => Promise<void>): Promise<void> {
  const abort = new AbortController();
  node.running = { sequence: 'install', abort };
  const signal = AbortSignal.any([node.signal, abort.signal]);
  const sleep = (seconds: number) => node.world.clock.sleep(seconds, signal);
  try {
    node.setStage('installing');
    await work({ signal, sleep });
    signal.throwIfAborted();
    node.setStage('rebooting');
    await sleep(timings.beforeKexec);
    node.end('kexec');
  } catch (error) {
    if (signal.aborted) return;
    node.hang(`install failed: ${error instanceof Error ? error.message : String(error)}`);
    await node.sleep(timings.failurePause);
    node.end('reboot');
  }
}

async function installFirst(node: TalosNode, { signal, sleep }: InstallRun): Promise<void> {
  const reference = node.config?.view.install?.image || `ghcr.io/siderolabs/installer:v${node.image.version}`;
  await sleep(timings.install / 2);
  const system = await pullInstaller(node, reference, signal);
  const disk = findInstallDisk(node);
  createPartitionTable(disk.path);
  persistState(node);
  const fault = node.world.switchboard.pass('talos', 'installer', { node: node.machine.name, image: reference });
  if (fault) throw new Error('failed to install the boot loader: no EFI system partition');
  if (system.platform !== node.platform)
    node.log(`the installer is for platform ${system.platform}, this node is ${node.platform}`);
  writeBootPartition(node, disk.path, system);
  publishSystemDisk(node);
  await sleep(timings.install / 2);
}

/** Writes the active configuration to STATE if there is a disk for it. A configuration on trial is not stored. */
function persistState(node: TalosNode): void {
  const disk = node.systemDisk;
  if (!disk || !node.config) return;
  if (!readPartition(disk, 'STATE')?.config) {
    const kept = node.trial ? {} : { config: node.config.source.text };
    writePartition(disk, 'STATE', { ...kept, nodeId: node.nodeId });
  }
  if (!readPartition(disk, 'EPHEMERAL')) writePartition(disk, 'EPHEMERAL', {});
  publishSystemDisk(node);
}

const minimumControlPlaneMiB = 2000;

async function startServices(node: TalosNode): Promise<void> {
  node.log('boot sequence: starting services');
  node.setStage('booting');
  node.files = node.config?.view.files ?? {};
  if (node.isControlPlane && node.machine.memoryMiB < minimumControlPlaneMiB) {
    node.hang(
      `a control plane needs 2 GiB of memory, this machine has ${node.machine.memoryMiB} MiB: its services are killed for lack of memory`,
    );
    return;
  }
  node.spawn('time', () => syncTime(node));
  await node.sleep(timings.cri);
  node.services.run('cri');
  node.bootstrapAllowed = true;
  if (node.isControlPlane) {
    node.spawn('trustd', async () => {
      while (!node.timeInSync) await node.sleep(1);
      await serveTrustd(node);
    });
    node.spawn('etcd', () => runEtcd(node));
    node.spawn('kube-apiserver', () => runApiServer(node));
    runStaticPods(node);
    node.spawn('vip', () => runSharedAddress(node));
  }
  node.spawn('kubelet', () => runKubelet(node));
  const wanted = ['apid', 'kubelet', ...(node.isControlPlane ? ['etcd', 'trustd'] : [])];
  while (!wanted.every((id) => node.services.up(id))) await node.sleep(1);
  node.setStage('running');
  node.spawn('upgrade fallback', () => confirmUpgrade(node));
}

/** The new system runs and is ready: no fatal error reverts the upgrade any more (talos: drop_upgrade_fallback.go). */
async function confirmUpgrade(node: TalosNode): Promise<void> {
  if (metaTag(node, metaKeys.upgradeFallback) === undefined) return;
  while (node.stage !== 'running' || node.unmet().length > 0) await node.sleep(timings.poll);
  node.log('removing fallback entry');
  setMetaTag(node, metaKeys.upgradeFallback, undefined);
}

async function syncTime(node: TalosNode): Promise<void> {
  await node.sleep(timings.timeSync);
  node.timeInSync = true;
  publishResources(node);
}

/** A raw image boots with either firmware; the first boot removes the loader of the other one. */
function dropUnusedLoader(node: TalosNode): void {
  if (node.bootedFrom !== 'disk') return;
  for (const { path } of node.machine.disks) {
    const boot = readPartition(path, 'BOOT');
    if (boot?.firmware === 'any' && boot.version === node.image.version)
      writePartition(path, 'BOOT', { ...boot, firmware: node.machine.firmware });
  }
}

/** The argument that the imager adds to discs (talos: pkg/imager/imager.go). */
function haltsBecauseInstalled(node: TalosNode): boolean {
  return node.systemDisk !== undefined && node.image.kernelArguments.includes('talos.halt_if_installed=1');
}

/**
 * Three of five boots of nocloud without a volume hang. Machine and boot count decide which ones, so that runs are
 * reproducible.
 */
function hangsInNocloudBoot(node: TalosNode): boolean {
  if (node.platform !== 'nocloud' || node.systemDisk !== undefined || findCloudData(node) !== undefined) return false;
  const first = createHash('sha256').update(node.machine.uuid).digest()[0] ?? 0;
  return (first + node.bootCount) % 5 < 3;
}

/** The kernel is up and no service listens yet: the port resets connections. */
async function resetConnections(node: TalosNode): Promise<() => Promise<void>> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    await Promise.all(closers.splice(0).map((closer) => closer()));
  };
  node.onClose(close);
  for (const address of node.addresses) closers.push(await takeAddress(node, address));
  // The boot may have ended meanwhile.
  if (node.signal.aborted) await close();
  return close;
}

/** While another machine has the address, that one answers there. */
async function takeAddress(node: TalosNode, address: string): Promise<() => Promise<void>> {
  const before = node.stuck;
  for (;;) {
    try {
      const close = await resetConnectionsOnPort(address, talosApiPort);
      node.stuck = before;
      return close;
    } catch (error) {
      const reason = `the address cannot be used: ${error instanceof Error ? error.message : String(error)}`;
      if (node.stuck !== reason) node.hang(reason);
      await node.sleep(timings.poll);
    }
  }
}
