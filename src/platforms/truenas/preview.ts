import type { NodeHardware } from '../../engine/platform.ts';
import type { PreviewContext, PreviewLine } from '../../engine/preview.ts';
import { isReserved } from '../../engine/reservation.ts';
import { cardsOf } from './cards.ts';
import { poolsOf } from './choose-pool.ts';
import { endpointOf, hostNameOf, type TrueNasConfig } from './config.ts';
import { tellCpu } from './cpu.ts';
import { dataDisksOf } from './data-disks.ts';
import { hasDisplay } from './display.ts';
import { isEncrypted } from './encrypted.ts';
import { describeHardware } from './hardware.ts';
import { type Identity, identityOf } from './identity.ts';

type Context = PreviewContext<TrueNasConfig>;

/** What a machine has on its system, by name. Nobody is asked: all names follow from the machine. */
export async function preview(seen: Context): Promise<readonly PreviewLine[]> {
  const context = { ...seen, config: beforeChoice(seen) };
  const { config, facts, node } = context;
  const identity = foreseenIdentity(context);
  const { vmName, dataset, zvol, mac } = identity;
  const size = config.sizes.find(({ name }) => name === node.size);
  const at = `on ${hostNameOf(config)}`;
  const machine = size ? `, ${tellCpu(size)}, ${size.memoryMiB} MiB${size.tpm ? ', TPM' : ''}` : '';
  const disk = size ? `, ${size.diskGiB} GiB` : '';
  const gateway = facts['gateway'] === undefined ? '' : `, gateway ${facts['gateway']}`;
  const how = isReserved(facts) ? ' by DHCP, reserved for it' : gateway;
  const address = facts['address'] === undefined ? '' : `, address ${facts['address']}/${facts['prefix']}${how}`;
  return [
    `virtual machine ${vmName} ${at}${machine}`,
    `dataset ${dataset}${isEncrypted(context) ? ', encrypted,' : ''} ${at}`,
    `zvol ${zvol}${disk} ${at}`,
    ...dataDisks(context, vmName).map((disk) => `zvol ${disk.zvol}, ${disk.sizeGiB} GiB ${at}`),
    `network card ${mac} at ${config.bridge}${address}`,
    ...cardsOf(context, identity).map(
      (card) => `network card ${card.mac} at ${card.bridge}${card.dhcp ? ', address by DHCP' : ', no address'}`,
    ),
    ...(hasDisplay(context) ? [`display in the web interface ${at}`] : []),
  ].map((what) => ({ effect: 'makes', what }));
}

/** Which of several pools it would be has to be seen when it is made: `tank|fast`. */
const beforeChoice = ({ config }: Context): TrueNasConfig => ({ ...config, pool: poolsOf(config).join('|') });

/** Below the name that people are told. */
const dataDisks = (context: Context, vmName: string) =>
  dataDisksOf(context).map((disk) => ({ ...disk, zvol: disk.zvol.replace(identityOf(context).vmName, vmName) }));

/** Undefined until it is known which address it would have. */
export function foreseenHardware(context: Context): NodeHardware | undefined {
  return context.facts['address'] === undefined
    ? undefined
    : describeHardware(context, foreseenIdentity(context), dataDisksOf(context));
}

const unknownMac = '02:00:00:00:00:00';

/** Where the installation is not known, neither is what is hashed out of it: an ellipsis and zeros stand for that. */
function foreseenIdentity(context: Context): Identity {
  const known = identityOf(context);
  if (context.owner.installation !== '') return known;
  const told = (name: string): string => name.replace(known.vmName, `${known.vmName.slice(0, -8)}…`);
  const uuid = '00000000-0000-0000-0000-000000000000';
  return {
    ...{ vmName: told(known.vmName), dataset: told(known.dataset), zvol: told(known.zvol) },
    ...{ uuid, mac: unknownMac, furtherMacs: known.furtherMacs.map(() => unknownMac) },
    ...{ providerId: `truenas://${endpointOf(context.config).host}/${uuid}` },
  };
}
