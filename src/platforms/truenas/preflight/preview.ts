import type { PreviewContext, PreviewLine } from '../../../engine/capabilities/preview.ts';
import { hasDhcpReservation } from '../../../engine/dhcp-reservation.ts';
import type { NodeHardware } from '../../../engine/node.ts';
import { candidatePoolsOf } from '../capacity/choose-pool.ts';
import { additionalCardsOf } from '../config/cards.ts';
import { hostNameOf, systemEndpointOf, type TrueNasConfig } from '../config/config.ts';
import { formatCpu } from '../config/cpu.ts';
import { hasDisplay } from '../config/display.ts';
import { isEncrypted } from '../config/encrypted.ts';
import { dataDisksOf } from '../resources/disk/data-disks.ts';
import { type VmIdentity, vmIdentityOf } from '../resources/identity.ts';
import { toNodeHardware } from '../resources/vm/node-hardware.ts';

type Context = PreviewContext<TrueNasConfig>;

/** The objects of a machine on its system, by name. Makes no call: all names follow from the machine. */
export async function preview(seen: Context): Promise<readonly PreviewLine[]> {
  const context = { ...seen, config: withAllCandidatePools(seen) };
  const { config, facts, node } = context;
  const identity = previewIdentity(context);
  const { vmName, dataset, zvol, mac } = identity;
  const size = config.sizes.find(({ name }) => name === node.size);
  const at = `on ${hostNameOf(config)}`;
  const machine = size ? `, ${formatCpu(size)}, ${size.memoryMiB} MiB${size.tpm ? ', TPM' : ''}` : '';
  const disk = size ? `, ${size.diskGiB} GiB` : '';
  const gateway = facts['gateway'] === undefined ? '' : `, gateway ${facts['gateway']}`;
  const how = hasDhcpReservation(facts) ? ' by DHCP, reserved for it' : gateway;
  const address = facts['address'] === undefined ? '' : `, address ${facts['address']}/${facts['prefix']}${how}`;
  return [
    `virtual machine ${vmName} ${at}${machine}`,
    `dataset ${dataset}${isEncrypted(context) ? ', encrypted,' : ''} ${at}`,
    `zvol ${zvol}${disk} ${at}`,
    ...previewDataDisks(context, vmName).map((disk) => `zvol ${disk.zvol}, ${disk.sizeGiB} GiB ${at}`),
    `network card ${mac} at ${config.bridge}${address}`,
    ...additionalCardsOf(context, identity).map(
      (card) => `network card ${card.mac} at ${card.bridge}${card.dhcp ? ', address by DHCP' : ', no address'}`,
    ),
    ...(hasDisplay(context) ? [`display in the web interface ${at}`] : []),
  ].map((subject) => ({ effect: 'creates', subject }));
}

/** With several pools the choice is made at creation: `tank|fast`. */
const withAllCandidatePools = ({ config }: Context): TrueNasConfig => ({
  ...config,
  pool: candidatePoolsOf(config).join('|'),
});

/** Data disks with the name of the VM that the preview shows. */
const previewDataDisks = (context: Context, vmName: string) =>
  dataDisksOf(context).map((disk) => ({ ...disk, zvol: disk.zvol.replace(vmIdentityOf(context).vmName, vmName) }));

/** Undefined while the address is unknown. */
export function previewHardware(context: Context): NodeHardware | undefined {
  return context.facts['address'] === undefined
    ? undefined
    : toNodeHardware(context, previewIdentity(context), dataDisksOf(context));
}

const placeholderMac = '02:00:00:00:00:00';

/** Where the installation is unknown, values hashed from it are shown as an ellipsis and zeros. */
function previewIdentity(context: Context): VmIdentity {
  const known = vmIdentityOf(context);
  if (context.owner.installation !== '') return known;
  const shortName = (name: string): string => name.replace(known.vmName, `${known.vmName.slice(0, -8)}…`);
  const uuid = '00000000-0000-0000-0000-000000000000';
  return {
    ...{ vmName: shortName(known.vmName), dataset: shortName(known.dataset), zvol: shortName(known.zvol) },
    ...{ uuid, mac: placeholderMac, furtherMacs: known.furtherMacs.map(() => placeholderMac) },
    ...{ providerId: `truenas://${systemEndpointOf(context.config).host}/${uuid}` },
  };
}
