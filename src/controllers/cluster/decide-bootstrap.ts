import { isConditionTrue } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { describeService } from '../../talos/client/etcd-calls.ts';
import type { NodeService } from '../../talos/client/node-calls.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';

/** The etcd state that a control plane has just reported. */
export type EtcdState =
  | { readonly unanswered: string }
  | {
      readonly service: NodeService | undefined;
      /** Boot id, while the service is `Preparing`. */
      readonly boot?: string;
      /** Number of etcd members, while the service is `Running`. */
      readonly members?: number;
    };

export interface ControlPlaneEtcd {
  readonly machine: Machine;
  /** Undefined while the Machine has no address. */
  readonly etcd: EtcdState | undefined;
}

/** `call`: `request` must be recorded first. It names the boot id and the service state before the call. */
export type BootstrapDecision =
  | { readonly kind: 'bootstrapped'; readonly machine: string }
  | { readonly kind: 'wait'; readonly message: string }
  | { readonly kind: 'call'; readonly machine: Machine; readonly request: string };

type BootstrapRecord = Pick<ClusterSecrets, 'bootstrapMachine' | 'bootstrapRequest'>;

/** Whether etcd is bootstrapped; otherwise whether it can be bootstrapped now on the chosen machine. */
export function decideBootstrap(
  controlPlanes: readonly ControlPlaneEtcd[],
  candidate: Machine | undefined,
  notes: BootstrapRecord,
): BootstrapDecision {
  const member = controlPlanes.find(({ etcd }) => etcd && 'members' in etcd && (etcd.members ?? 0) > 0);
  if (member) return { kind: 'bootstrapped', machine: notes.bootstrapMachine ?? nameOf(member.machine) };
  const others = controlPlanes.filter(({ machine }) => machine !== candidate);
  const uncertainties = others.flatMap((controlPlane) => describeMembershipUncertainty(controlPlane, notes) ?? []);
  if (uncertainties.length > 0) return { kind: 'wait', message: uncertainties.join(' ') };
  if (!candidate) {
    const message = `etcd is bootstrapped on ${notes.bootstrapMachine}, which does not run its installed system now.`;
    return { kind: 'wait', message };
  }
  return decideForCandidate(candidate, controlPlanes.find(({ machine }) => machine === candidate)?.etcd, notes);
}

/** Why a control plane may hold etcd members. */
function describeMembershipUncertainty(
  { machine, etcd }: ControlPlaneEtcd,
  notes: BootstrapRecord,
): string | undefined {
  const name = nameOf(machine);
  const mayHold =
    name === notes.bootstrapMachine ||
    machine.status?.progress?.facts['joined'] === true ||
    isConditionTrue(machine.status?.conditions, 'Provisioned');
  if (!etcd) return undefined;
  const wait =
    'A bootstrap of etcd requires proof that there was none before: if the machine is permanently lost, delete its Machine.';
  if ('unanswered' in etcd)
    return mayHold ? `${name} does not answer, and may be a member of etcd: ${etcd.unanswered} ${wait}` : undefined;
  if (etcd.service?.state === 'Preparing' || (!mayHold && isBeforePreparing(etcd.service))) return undefined;
  return `${name}: ${describeService('etcd', etcd.service)} ${wait}`;
}

function decideForCandidate(
  candidate: Machine,
  etcd: EtcdState | undefined,
  notes: BootstrapRecord,
): BootstrapDecision {
  const name = nameOf(candidate);
  const wait = (message: string): BootstrapDecision => ({ kind: 'wait', message: `${name}${message}` });
  if (!etcd) return wait(' has no address yet.');
  if ('unanswered' in etcd) return wait(` does not answer: ${etcd.unanswered}`);
  const { service, boot } = etcd;
  if (service?.state !== 'Preparing' || boot === undefined)
    return wait(
      isBeforePreparing(service)
        ? `: ${describeService('etcd', service)}`
        : `: etcd was started, and ${describeService('etcd', service)}`,
    );
  const request = `${boot} ${service.changedAt}`;
  const before = notes.bootstrapMachine === name ? notes.bootstrapRequest : undefined;
  // A call makes Talos load the service again. An unchanged service was not reached by the call, and a reboot loses the
  // call.
  if (before !== undefined && before !== request && before.startsWith(`${boot} `))
    return wait(`: etcd was bootstrapped and is starting: ${describeService('etcd', service)}`);
  return { kind: 'call', machine: candidate, request };
}

/** Talos has not reached the service yet in this boot. */
const isBeforePreparing = (service: NodeService | undefined): boolean =>
  service === undefined || service.state === 'Initialized' || service.state === 'Waiting';

const nameOf = ({ metadata }: Machine): string => metadata.name;
