import { createHash } from 'node:crypto';
import { hasDhcpReservation } from '../../../engine/dhcp-reservation.ts';
import type { Facts, NodeSpec, Owner } from '../../../engine/platform.ts';
import { hashNames, uuidFromNames } from '../../../lib/hash.ts';
import type { Dataset, Vm } from '../api/schema.ts';
import { maxAdditionalCards } from '../config/cards.ts';
import { systemEndpointOf, type TrueNasConfig } from '../config/config.ts';

/** Names of everything that a Machine has on its system. All follow from the owner, so looking is always possible. */
export interface VmIdentity {
  /** `[a-z0-9_]`, at most 50 characters; ends with a hash of the owner, so that installations do not meet. */
  readonly vmName: string;
  /** SMBIOS UUID of the VM. It is our mark on it. */
  readonly uuid: string;
  /**
   * Locally administered; TrueNAS would draw a new one at each start. It follows from the Machine, or from the address that a DHCP
   * server has reserved for it.
   */
  readonly mac: string;
  /** Of as many cards as there may be beside the first, in their order. */
  readonly furtherMacs: readonly string[];
  /** Filesystem that holds the seed, e.g. `tank/talos/shop_cp_0_abcdefgh`. */
  readonly dataset: string;
  /** Boot disk, below it. */
  readonly zvol: string;
  /** `spec.providerID` of the node. */
  readonly providerId: string;
}

type IdentityContext = { readonly owner: Owner; readonly config: TrueNasConfig; readonly facts: Facts };

/**
 * The identity of a machine. What was written into its facts before anything was made holds, so that a ProviderConfig
 * that later names another pool does not make us look in the wrong place.
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
    providerId: `truenas://${systemEndpointOf(config).host}/${uuid}`,
  };
}

/** As much of it as a machine is found by. */
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
 * The MAC address of whichever machine is given an address of the pool. It is known before there is any machine, so that all of a
 * pool can be reserved at once; whoever has the claim on the address is the only one that has it.
 */
export const reservedMac = ({ installation, provider }: Omit<Owner, 'machine'>, address: string): string =>
  macOf([installation, provider, `address ${address}`]);

/** Locally administered, and the same each time. No name holds a space, so that no card is another machine's. */
function macOf(names: readonly string[]): string {
  const digest = createHash('sha256').update(names.join('/')).digest();
  return ['02', ...[...digest.subarray(0, 5)].map((byte) => byte.toString(16).padStart(2, '0'))].join(':');
}

/** The mark as it stands in descriptions and comments. One line, parseable; people read it too. */
export function markLine({ installation, provider, machine, cluster }: Owner): string {
  const line = `cluster-provider-talos: installation=${installation} provider=${provider} machine=${machine}`;
  return cluster === undefined ? line : `${line} cluster=${cluster}`;
}

/** The owner that a text names, if it carries our line. */
export function parseMark(words: string | null | undefined): Owner | undefined {
  const found = /^cluster-provider-talos: installation=(\S+) provider=(\S+) machine=(\S*)(?: cluster=(\S+))?$/m.exec(
    words ?? '',
  );
  const [, installation, provider, machine, cluster] = found ?? [];
  if (installation === undefined || provider === undefined || machine === undefined) return undefined;
  return { installation, provider, machine, ...(cluster === undefined ? {} : { cluster }) };
}

/**
 * The description of a VM: the mark first, without the Cluster where names are long; then what people like to know, as far as it
 * fits.
 */
export function toVmDescription(owner: Owner, node: DescribedNode): string {
  const marks = [markLine(owner), markLine({ ...owner, cluster: undefined })];
  const mark = marks.find((line) => line.length <= maxDescriptionCharacters) ?? '';
  const about = nodeLine(node);
  const fits = [mark, about].join('\n').length <= maxDescriptionCharacters;
  return fits ? withMetadata([mark, about, ''].join('\n'), node) : mark;
}

/** Characters of the column of TrueNAS's database. */
const maxDescriptionCharacters = 250;

type DescribedNode = Pick<NodeSpec, 'cluster' | 'role' | 'labels'>;

const nodeLine = ({ role, cluster }: DescribedNode): string => `Talos ${role} of ${cluster.namespace}/${cluster.name}.`;

/** One line each, whatever the value of an annotation holds. */
const metadataLines = ({ labels }: DescribedNode): string[] =>
  Object.entries(labels).map(([name, value]) => `${name}=${value.replace(/\s+/g, ' ').trim()}`);

/**
 * A description with the metadata that the machine has now, as far as that fits: it stands below our line about the node. What
 * people wrote above and below it stays; a description without that line stays as it is.
 */
export function withMetadata(description: string, node: DescribedNode): string {
  const lines = description.split('\n');
  const start = lines.indexOf(nodeLine(node)) + 1;
  if (start === 0) return description;
  const isOther = (line: string, i: number): boolean => i >= start && !/^[^\s/=]+\/[^\s=]+=/.test(line);
  const end = lines.findIndex(isOther);
  const [above, below] = [lines.slice(0, start), end < 0 ? [] : lines.slice(end)];
  const join = (metadata: readonly string[]): string => [...above, ...metadata, ...below].join('\n').trimEnd();
  const told: string[] = [];
  for (const line of metadataLines(node)) {
    if (join([...told, line]).length > maxDescriptionCharacters) break;
    told.push(line);
  }
  return join(told);
}

/** ZFS user properties. Below a marked dataset they are inherited, which is why only local ones count. */
const propertyKey = (name: keyof Owner | 'size' | 'sha256' | 'unused-since') => `openmcp.talos:${name}`;

type UserProperty = NonNullable<Dataset['user_properties']>[string];
const localValue = (property: UserProperty | undefined): string | undefined =>
  property && property.source !== 'INHERITED' ? (property.rawvalue ?? property.value ?? undefined) : undefined;

/** The owner's mark as `pool.dataset.create` takes user properties. */
export function markProperties(owner: Owner): { key: string; value: string }[] {
  const { installation, provider, machine, cluster } = owner;
  const values = Object.entries({ installation, provider, machine, cluster });
  return values.flatMap(([name, value]) => (value === undefined ? [] : [{ key: `openmcp.talos:${name}`, value }]));
}

/**
 * Who a dataset belongs to: its user properties, or the comment, which TrueNAS 26.0.0-BETA.3 keeps at creation while it
 * drops the former.
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

/** True when the user properties are complete, without the help of the comment. */
export function isFullyMarked(dataset: Dataset): boolean {
  return ownerOf({ ...dataset, comments: undefined }) !== undefined;
}

export function isOwnDataset(dataset: Dataset, owner: Owner): boolean {
  return isSameOwner(ownerOf(dataset), owner);
}

/**
 * A VM is ours when its UUID is the one that follows from the owner. A description can be edited and is copied when
 * somebody clones the VM; it only ever counts against: one that names another owner makes the VM theirs.
 */
export function isOwnVm(vm: Vm, owner: Owner): boolean {
  const written = parseMark(vm.description);
  const uuid = uuidFromNames(owner.installation, owner.provider, owner.machine);
  return vm.uuid?.toLowerCase() === uuid && (written === undefined || isSameOwner(written, owner));
}

/** What was noted about an uploaded image. */
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

/** Since when nobody is known to need an image. It stands on its dataset, so that no restart makes it shorter. */
export function unusedSince(dataset: Dataset): Date | undefined {
  const since = new Date(localValue(dataset.user_properties?.[propertyKey('unused-since')]) ?? Number.NaN);
  return Number.isNaN(since.getTime()) ? undefined : since;
}
export const unusedSinceUpdate = (since: Date) => [{ key: propertyKey('unused-since'), value: since.toISOString() }];
export const unusedSinceRemoval = [{ key: propertyKey('unused-since'), remove: true }];

/** As `pool.dataset.update` takes the note off again: without its size it counts for nothing. */
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
