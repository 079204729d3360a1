import type { PreviewContext, PreviewLine } from '../../../engine/capabilities/preview.ts';
import type { HostDisk } from '../../../engine/host.ts';
import type { RobotConfig } from '../config.ts';
import { robotClientFor } from '../context.ts';
import { describeDisk, matchesDiskIdentifier, planDisks } from '../hosts/disk-plan.ts';
import { type RobotHost, toRobotHost } from '../hosts/robot-host.ts';
import { ownershipByName } from '../mark.ts';
import { describeForeignServer, describeMissingServer, unfitReason } from '../steps/claim-server.ts';

/** One list of servers is reused for all machines of a preview. */
const previewMaxAgeSeconds = 60;

/** Previews the changes to the server of a Host and to each of its disks. Reads only the list of servers from Robot. */
export async function preview(context: PreviewContext<RobotConfig>): Promise<readonly PreviewLine[]> {
  const { owner, signal, hostedServers } = context;
  if (!context.host) return [];
  const host = toRobotHost(context.host);
  const all = await robotClientFor(context, hostedServers).listServers({ signal, maxAgeSeconds: previewMaxAgeSeconds });
  const server = all.find(({ number }) => number === host.number);
  if (!server) return [rejectionLine(describeMissingServer(host))];
  const refused = unfitReason(host, server);
  if (refused) return [rejectionLine(refused)];
  if (ownershipByName(server.name, owner, host.spec.expect.name) === 'others')
    return [rejectionLine(describeForeignServer(server))];
  return previewDisks(host);
}

const rejectionLine = (what: string): PreviewLine => ({ effect: 'blocked', subject: what });

/** Previews the changes to each disk, by the last inspection. */
export function previewDisks(
  host: Pick<RobotHost, 'name' | 'number' | 'spec' | 'state' | 'hardware'>,
): readonly PreviewLine[] {
  const { spec, hardware } = host;
  if (!hardware) {
    const what = `The disks have not been inspected yet. They are inspected before anything is written. To inspect them now, annotate Host ${host.name} with talos.clusters.openmcp.cloud/inspect, which reboots the server.`;
    return [{ effect: 'unknown', subject: what }];
  }
  const isProtected = (disk: HostDisk): boolean =>
    spec.protectedDisks.some((name) => matchesDiskIdentifier(disk, name));
  const describe = (disk: HostDisk): string => `${describeDisk(disk)}: ${disk.holds.join(', ') || 'blank'}`;
  const left = (disk: HostDisk): PreviewLine => ({
    effect: isProtected(disk) ? 'protects' : 'keeps',
    subject: describe(disk),
  });
  if (host.state === 'Provisioned' || host.state === 'Deprovisioning') {
    const what = 'The disks of this machine were already selected. The content shown is from before the installation.';
    return [{ effect: 'keeps', subject: what }, ...hardware.disks.map(left)];
  }
  const plan = planDisks(spec, hardware.disks);
  if ('refused' in plan) return [rejectionLine(`Server ${host.number}: ${plan.refused}`), ...hardware.disks.map(left)];
  const kept = hardware.disks.filter((disk) => !plan.erase.includes(disk));
  return [
    ...plan.erase.map(
      (disk): PreviewLine => ({
        effect: 'erases',
        subject: `${describe(disk)}${disk === plan.root ? '; Talos is installed to it' : ''}`,
      }),
    ),
    ...kept.map(left),
  ];
}
