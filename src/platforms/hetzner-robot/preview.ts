import type { HostDisk, HostView } from '../../engine/host.ts';
import type { PreviewContext, PreviewLine } from '../../engine/preview.ts';
import { describeForeign, describeMissing, whyUnfit } from './claim.ts';
import type { RobotConfig } from './config.ts';
import { robotOf } from './ground.ts';
import { ownerByName } from './mark.ts';
import { isNamed, planDisks, show } from './root-disk.ts';

/** One answer tells of the servers of all machines that are previewed. */
const maxAgeSeconds = 60;

/** What would become of the server of a Host and of each of its disks. Asks Robot for the list of servers, and nothing else. */
export async function preview(context: PreviewContext<RobotConfig>): Promise<readonly PreviewLine[]> {
  const { host, owner, signal, servers } = context;
  if (!host) return [];
  const all = await robotOf(context, servers).listServers({ signal, maxAgeSeconds });
  const server = all.find(({ number }) => number === host.spec.serverNumber);
  if (!server) return [refuses(describeMissing(host))];
  const refused = whyUnfit(host, server);
  if (refused) return [refuses(refused)];
  if (ownerByName(server.name, owner, host.spec.expect.name) === 'others') return [refuses(describeForeign(server))];
  return previewDisks(host);
}

const refuses = (what: string): PreviewLine => ({ effect: 'refuses', what });

/** What would become of each disk, by what was found on them when somebody last looked. */
export function previewDisks(host: Pick<HostView, 'name' | 'spec' | 'state' | 'hardware'>): readonly PreviewLine[] {
  const { spec, hardware } = host;
  if (!hardware) {
    const what = `Nobody has looked at its disks yet. They are looked at before anything is written; to know now, annotate Host ${host.name} with talos.clusters.openmcp.cloud/inspect, which reboots the server.`;
    return [{ effect: 'unknown', what }];
  }
  const isProtected = (disk: HostDisk): boolean => spec.protectedDisks.some((name) => isNamed(disk, name));
  const describe = (disk: HostDisk): string => `${show(disk)}: ${disk.holds.join(', ') || 'blank'}`;
  const left = (disk: HostDisk): PreviewLine => ({
    effect: isProtected(disk) ? 'protects' : 'keeps',
    what: describe(disk),
  });
  if (host.state === 'Provisioned' || host.state === 'Deprovisioning') {
    const what =
      'Its disks were chosen already, and the root disk is ours: what is told here is what was on them before.';
    return [{ effect: 'keeps', what }, ...hardware.disks.map(left)];
  }
  const plan = planDisks(spec, hardware.disks);
  if ('refused' in plan) return [refuses(`Server ${spec.serverNumber}: ${plan.refused}`), ...hardware.disks.map(left)];
  const kept = hardware.disks.filter((disk) => !plan.erase.includes(disk));
  return [
    ...plan.erase.map(
      (disk): PreviewLine => ({
        effect: 'erases',
        what: `${describe(disk)}${disk === plan.root ? '; Talos is installed to it' : ''}`,
      }),
    ),
    ...kept.map(left),
  ];
}
