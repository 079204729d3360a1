import { z } from 'zod';
import type { HostSchemas, HostView } from '../../../engine/host.ts';

/** The section `spec.hetznerRobot` of a Host. */
const RobotHostSpec = z
  .strictObject({
    resetTypes: z
      .array(z.enum(['sw', 'hw', 'power', 'power_long']))
      .min(1)
      .max(4)
      .default(['hw', 'power_long', 'power', 'sw'])
      .meta({ 'x-kubernetes-list-type': 'set' })
      .describe(
        'Ways to reset it, best first; the first that it offers is used. Default: by how little the system on it has to do: hw, power_long, power, sw.',
      ),
  })
  .describe('A server of Hetzner Robot. serverID is its number, in decimal digits. May be empty.');

/** The section `status.hetznerRobot` of a Host. */
const RobotHostStatus = z
  .strictObject({ resetTypes: z.array(z.string()).describe('Ways to reset it that it offers.') })
  .describe('What Robot was asked about the server.');

const serverNumberPattern = /^[1-9][0-9]{0,9}$/;

export const robotHostSchemas: HostSchemas = {
  serverID: {
    pattern: serverNumberPattern,
    message: 'serverID must be the number that the server has in Robot, in decimal digits',
  },
  spec: RobotHostSpec,
  status: RobotHostStatus,
};

/** A Host with what only Robot knows. */
export interface RobotHost extends HostView {
  /** Number of its server in Robot. */
  readonly number: number;
  readonly platformSpec: z.infer<typeof RobotHostSpec>;
  readonly platformStatus: z.infer<typeof RobotHostStatus>;
}

export const toRobotHost = (host: HostView): RobotHost => ({
  ...host,
  number: Number(host.spec.serverID),
  // Parsed with the Host, by the schema above. Only this platform writes the status, by the same schema.
  platformSpec: host.platformSpec as RobotHost['platformSpec'],
  platformStatus: { resetTypes: [], ...(host.platformStatus as Partial<RobotHost['platformStatus']>) },
});

/** Numbers of the servers with these IDs, without IDs that the API server would not accept. */
export const toServerNumbers = (ids: ReadonlySet<string>): ReadonlySet<number> =>
  new Set([...ids].filter((id) => serverNumberPattern.test(id)).map(Number));
