import { existsSync, statSync } from 'node:fs';
import { ConfigError, errorList } from '../config/config-error.ts';
import { decodeConfig } from '../config/decode-config.ts';
import type { InterfaceView } from '../config/links.ts';
import { validateConfig } from '../config/validate-config.ts';
import { describeLinks } from '../network/links.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';
import { type CloudData, isCloudData, parseCloudData } from './cidata.ts';
import { readPartition } from './disk-partitions.ts';
import { diskMatchesSelector } from './installer.ts';
import { type IsoDisc, readIsoDisc } from './iso9660.ts';

/** The result of a boot's acquisition: a configuration that is complete for boot, or none. */
export type AcquiredConfig = { readonly config: string; readonly source: string } | { readonly config: undefined };

/**
 * The acquisition of the configuration: STATE, then the platform. An invalid configuration is retried indefinitely,
 * without an API meanwhile (talos: controllers/config/acquire.go).
 */
export async function acquireConfig(node: TalosNode): Promise<AcquiredConfig> {
  for (;;) {
    try {
      const found = readConfigSources(node);
      node.stuck = undefined;
      return found;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      node.hang(`failed to acquire the configuration, trying again: ${reason}`);
    }
    await node.sleep(timings.acquireRetry);
  }
}

function readConfigSources(node: TalosNode): AcquiredConfig {
  const disk = node.systemDisk;
  const state = disk ? readPartition(disk, 'STATE') : undefined;
  if (state) node.nodeId = state.nodeId;
  const platform = readPlatformData(node);
  node.metadata = platform?.metadata ?? {};
  node.platformLinks = platform?.links ?? [];
  if (state?.config !== undefined) return requireBootable(node, state.config, 'STATE');
  if (platform?.userData === undefined) return { config: undefined };
  return requireBootable(node, platform.userData, `platform ${node.platform}`);
}

/** nocloud reads its volume at every boot, whatever STATE holds; metal reads none. */
function readPlatformData(node: TalosNode): CloudData | undefined {
  const disc = node.platform === 'nocloud' ? findCloudData(node) : undefined;
  return disc && parseCloudData(disc);
}

const readDiscs = (node: TalosNode): IsoDisc[] =>
  node.machine.cdroms
    .filter(({ path }) => isLargeEnoughToProbe(node, path))
    .map((cdrom) => readIsoDisc(cdrom.path))
    .filter((disc) => disc !== undefined);

/** The minimum that the block device probing of Talos 1.12 reads; it finds no label on a smaller device. */
const probedBytes = 64 * 1024;

const isLargeEnoughToProbe = ({ minor }: TalosNode, path: string): boolean =>
  minor > 12 || (existsSync(path) && statSync(path).size >= probedBytes);

/** The disc with the label that nocloud searches for. */
export const findCloudData = (node: TalosNode): IsoDisc | undefined => readDiscs(node).find(isCloudData);

/** A configuration without the v1alpha1 document is stored, but does not boot. */
function requireBootable(node: TalosNode, text: string, source: string): AcquiredConfig {
  const config = decodeConfig(text, node.minor);
  if (!config.legacy) return { config: undefined };
  const { errors } = validateConfig(config, validationContext(node));
  if (errors.length > 0) throw new ConfigError(`failed to validate config from ${source}: ${errorList(errors)}`);
  return { config: text, source };
}

export const validationContext = (node: TalosNode) => ({
  minor: node.minor,
  version: node.image.version,
  mode: node.platform === 'metal' ? ('metal' as const) : ('cloud' as const),
  installed: node.systemDisk !== undefined,
  selectorFits: (selector: Readonly<Record<string, unknown>>) =>
    node.machine.disks.some((disk) => diskMatchesSelector(disk, selector)),
});

/** Links from configuration and platform; the configuration has precedence. */
export function applyLinks(node: TalosNode): void {
  const configured: readonly InterfaceView[] = node.config?.view.links ?? [];
  node.links = describeLinks(node.machine, node.platform, configured, node.platformLinks);
}

/** Host name and links from configuration and platform; the configuration has precedence. */
export function applyNetworkConfig(node: TalosNode): void {
  const view = node.config?.view;
  applyLinks(node);
  node.hostname =
    view?.hostname ?? node.metadata['local-hostname'] ?? node.metadata['hostname'] ?? stableHostname(node.nodeId);
}

/** `talos-xxx-yyy` of the machine identity. */
function stableHostname(nodeId: string): string {
  const letters = nodeId
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .padEnd(6, '0');
  return `talos-${letters.slice(0, 3)}-${letters.slice(3, 6)}`;
}
