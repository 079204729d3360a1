import { createHash } from 'node:crypto';
import { hasDhcpReservation } from '../../../engine/dhcp-reservation.ts';
import type { NodeSpec, Owner } from '../../../engine/node.ts';
import type { Facts } from '../../../engine/step.ts';
import { hashNames, uuidFromNames } from '../../../lib/hash.ts';
import type { Dataset, Vm } from '../api/schema.ts';
import { maxAdditionalCards } from '../config/cards.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';

/** Names of all objects of a Machine on its system. All follow from the owner, so an object can always be found. */
export interface VmIdentity {
  /** `[a-z0-9_]`, at most 50 characters; ends with a hash of the owner, so that installations do not collide. */
  readonly vmName: string;
  /** SMBIOS UUID of the VM: the ownership mark on it. */
  readonly uuid: string;
  /**
   * Locally administered; TrueNAS would choose a new one at each start. It follows from the Machine, or from the
   * address that a DHCP server has reserved.
   */
  readonly mac: string;
  /** MAC addresses of all possible additional cards, in their order. */
  readonly furtherMacs: readonly string[];
  /** Filesystem that holds the seed, e.g. `tank/talos/shop_cp_0_abcdefgh`. */
  readonly dataset: string;
  /** Boot disk, in this filesystem. */
  readonly zvol: string;
  /** `spec.providerID` of the node. It stays when the system gets another host name. */
  readonly providerId: string;
}

type IdentityContext = { readonly owner: Owner; readonly config: TrueNasConfig; readonly facts: Facts };

/**
 * The identity of a machine. Recorded facts come first, so that a ProviderConfig that later names another pool does not
 * change the names of existing objects.
 */
export function vmIdentityOf({ owner, config, facts }: IdentityContext): VmIdentity {
  const names = ownerParts(owner);
  const { vmName, uuid, dataset } = vmLocationOf({ owner, config, facts });
  return {
    ...{ vmName, uuid, dataset },
    mac:
      textValue(facts['mac']) ??
      (hasDhcpReservation(facts) ? reservedMac(owner, textValue(facts['address']) ?? '') : macOf(names)),
    furtherMacs: Array.from({ length: maxAdditionalCards }, (_, index) => macOf([...names, `card ${index + 1}`])),
    zvol: `${dataset}/boot`,
    providerId: textValue(facts['providerId']) ?? `truenas://${systemEndpointOf(config).host}/${uuid}`,
  };
}

/** The part of the identity that a machine is looked up by. */
export function vmLocationOf({
  owner,
  config,
  facts,
}: IdentityContext): Pick<VmIdentity, 'vmName' | 'uuid' | 'dataset'> {
  const names = ownerParts(owner);
  const readable = owner.machine
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 41);
  const vmName = textValue(facts['vm']) ?? `${readable}_${hashNames(...names)}`;
  const dataset = textValue(facts['dataset']) ?? `${config.pool}/${config.datasetPrefix}/${vmName}`;
  return { vmName, uuid: uuidFromNames(...names), dataset };
}

const ownerParts = ({ installation, provider, machine }: Owner): string[] => [installation, provider, machine];

/**
 * The MAC address of the machine that gets this address of the pool. It is known before any machine exists, so that a
 * whole pool can be reserved in DHCP. Only the holder of the address claim uses it.
 */
export const reservedMac = ({ installation, provider }: Omit<Owner, 'machine'>, address: string): string =>
  macOf([installation, provider, `address ${address}`]);

/** Locally administered, and stable. No name contains a space, so no two cards get the same address. */
function macOf(names: readonly string[]): string {
  const digest = createHash('sha256').update(names.join('/')).digest();
  return ['02', ...[...digest.subarray(0, 5)].map((byte) => byte.toString(16).padStart(2, '0'))].join(':');
}

/** The mark in descriptions and comments: one line for parsers and users. */
export function markLine({ installation, provider, machine, cluster }: Owner): string {
  const line = `cluster-provider-talos: installation=${installation} provider=${provider} machine=${machine}`;
  return cluster === undefined ? line : `${line} cluster=${cluster}`;
}

/** The owner in a text, if it contains the mark. */
export function parseMark(text: string | null | undefined): Owner | undefined {
  const found = /^cluster-provider-talos: installation=(\S+) provider=(\S+) machine=(\S*)(?: cluster=(\S+))?$/m.exec(
    text ?? '',
  );
  const [, installation, provider, machine, cluster] = found ?? [];
  if (installation === undefined || provider === undefined || machine === undefined) return undefined;
  return { installation, provider, machine, ...(cluster === undefined ? {} : { cluster }) };
}

/**
 * The description of a VM: the mark first, without the Cluster when names are long; then information for users, as far
 * as it fits.
 */
export function toVmDescription(owner: Owner, node: DescribedNode): string {
  const marks = [markLine(owner), markLine({ ...owner, cluster: undefined })];
  const mark = marks.find((line) => line.length <= maxDescriptionCharacters) ?? '';
  const about = nodeLine(node);
  const fits = [mark, about].join('\n').length <= maxDescriptionCharacters;
  return fits ? withMetadata([mark, about, ''].join('\n'), node) : mark;
}

/** Length of the column in TrueNAS's database. */
const maxDescriptionCharacters = 250;

type DescribedNode = Pick<NodeSpec, 'cluster' | 'role' | 'labels'>;

const nodeLine = ({ role, cluster }: DescribedNode): string => `Talos ${role} of ${cluster.namespace}/${cluster.name}.`;

/** One line for each annotation, whatever its value. */
const metadataLines = ({ labels }: DescribedNode): string[] =>
  Object.entries(labels).map(([name, value]) => `${name}=${value.replace(/\s+/g, ' ').trim()}`);

/**
 * Replaces the metadata in a description with the current ones, as far as they fit. They stand below our line about the
 * node. Other text above and below stays; a description without that line is not changed.
 */
export function withMetadata(description: string, node: DescribedNode): string {
  const lines = description.split('\n');
  const start = lines.indexOf(nodeLine(node)) + 1;
  if (start === 0) return description;
  const isOther = (line: string, i: number): boolean => i >= start && !/^[^\s/=]+\/[^\s=]+=/.test(line);
  const end = lines.findIndex(isOther);
  const [above, below] = [lines.slice(0, start), end < 0 ? [] : lines.slice(end)];
  const join = (metadata: readonly string[]): string => [...above, ...metadata, ...below].join('\n').trimEnd();
  const differences: string[] = [];
  for (const line of metadataLines(node)) {
    if (join([...differences, line]).length > maxDescriptionCharacters) break;
    differences.push(line);
  }
  return join(differences);
}

/** ZFS user properties. Datasets below a marked one inherit them, so only local values count. */
const propertyKey = (name: keyof Owner | 'size' | 'sha256' | 'unused-since') => `openmcp.talos:${name}`;

type UserProperty = NonNullable<Dataset['user_properties']>[string];
const localValue = (property: UserProperty | undefined): string | undefined =>
  property && property.source !== 'INHERITED' ? (property.rawvalue ?? property.value ?? undefined) : undefined;

/** The mark as user properties of `pool.dataset.create`. */
export function markProperties(owner: Owner): { key: string; value: string }[] {
  const { installation, provider, machine, cluster } = owner;
  const values = Object.entries({ installation, provider, machine, cluster });
  return values.flatMap(([name, value]) => (value === undefined ? [] : [{ key: `openmcp.talos:${name}`, value }]));
}

/**
 * The owner of a dataset: its user properties, or the comment, because TrueNAS 26.0.0-BETA.3 drops the former at
 * creation.
 */
export function ownerOf(dataset: Dataset): Owner | undefined {
  const local = (name: keyof Owner) => localValue(dataset.user_properties?.[propertyKey(name)]);
  const installation = local('installation');
  const provider = local('provider');
  const machine = local('machine');
  if (installation !== undefined && provider !== undefined && machine !== undefined) {
    const cluster = local('cluster');
    return { installation, provider, machine, ...(cluster === undefined ? {} : { cluster }) };
  }
  return parseMark(localValue(dataset.comments ?? undefined));
}

/** True when the user properties alone are a complete mark. */
export function isFullyMarked(dataset: Dataset): boolean {
  return ownerOf({ ...dataset, comments: undefined }) !== undefined;
}

export function isOwnDataset(dataset: Dataset, owner: Owner): boolean {
  return isSameOwner(ownerOf(dataset), owner);
}

/**
 * A VM is ours when its UUID follows from the owner. A description can be edited, and a clone copies it, so it never
 * proves ownership. A description with another owner makes the VM foreign.
 */
export function isOwnVm(vm: Vm, owner: Owner): boolean {
  const written = parseMark(vm.description);
  const uuid = uuidFromNames(owner.installation, owner.provider, owner.machine);
  return vm.uuid?.toLowerCase() === uuid && (written === undefined || isSameOwner(written, owner));
}

/** The record of an uploaded image. */
export interface ImageRecord {
  readonly bytes: number;
  readonly sha256: string;
}

export function imageRecordProperties({ bytes, sha256 }: ImageRecord): { key: string; value: string }[] {
  return [
    { key: propertyKey('size'), value: String(bytes) },
    { key: propertyKey('sha256'), value: sha256 },
  ];
}

/** Since when an image is unused. It is a property of its dataset, so that it survives restarts. */
export function unusedSince(dataset: Dataset): Date | undefined {
  const since = new Date(localValue(dataset.user_properties?.[propertyKey('unused-since')]) ?? Number.NaN);
  return Number.isNaN(since.getTime()) ? undefined : since;
}
export const unusedSinceUpdate = (since: Date) => [{ key: propertyKey('unused-since'), value: since.toISOString() }];
export const unusedSinceRemoval = [{ key: propertyKey('unused-since'), remove: true }];

/** Removes the record by `pool.dataset.update`: a record without size is invalid. */
export const imageRecordRemoval = [{ key: propertyKey('size'), remove: true }];

export function parseImageRecord(dataset: Dataset): ImageRecord | undefined {
  const local = (name: 'size' | 'sha256') => localValue(dataset.user_properties?.[propertyKey(name)]);
  const sha256 = local('sha256');
  const bytes = Number(local('size') ?? Number.NaN);
  if (sha256 === undefined || !Number.isSafeInteger(bytes)) return undefined;
  return { bytes, sha256 };
}

export function isSameOwner(a: Owner | undefined, b: Owner): boolean {
  const isNamed = a?.installation === b.installation && a.provider === b.provider && a.machine === b.machine;
  return isNamed && (a.cluster === undefined || b.cluster === undefined || a.cluster === b.cluster);
}

function textValue(fact: Facts[string] | undefined): string | undefined {
  return typeof fact === 'string' && fact !== '' ? fact : undefined;
}
