import type { InterceptedCall } from '../../../world/faults/call-interceptor.ts';
import { CallNaming, nameApiRequest } from '../call-naming.ts';

const machinePattern = /main[-_][a-z0-9]{8}[-_](cp|work)[-_](\d)/g;

/** Names of Machines without the hash of their cluster. */
export const maskMachines = (text: string): string => text.replace(machinePattern, '$1-$2');

/** `cp` or `work`: what happens to one control plane happens to the others. */
const maskSlots = (text: string): string => text.replace(machinePattern, '$1');

/** Names calls by the phase, the kind of node, and the step of that node's Machine. */
export class UpdateCallNaming extends CallNaming {
  /** By role. A rollout changes one Machine at a time. */
  readonly #steps = new Map<string, string>();

  override nameOf(call: InterceptedCall, content: unknown): string {
    const { room, name } = call;
    if (room === 'talos') {
      const { node = '' } = (call.detail ?? {}) as { node?: string };
      const { type = '' } = (content ?? {}) as { type?: string };
      const [, role = ''] = /_(cp|work)_/.exec(node) ?? [];
      return ['talos', `${this.act}:`, name, type, `(${role}${this.#stepOf(role)})`].filter(Boolean).join(' ');
    }
    if (room !== 'kube' && room !== 'workload') return `${room} ${this.act}: ${name}`;
    const request = maskSlots(nameApiRequest(call, content)).replace(/\/pods\/[^/ ]+/, '/pods/<pod>');
    return `${room} ${this.act}: ${request}`;
  }

  override follow(call: InterceptedCall, content: unknown): void {
    super.follow(call, content);
    if (call.room !== 'kube') return;
    const [, role, step] =
      /\/machines\/main-\w+-(cp|work)-\d\/status begin (\S+)$/.exec(nameApiRequest(call, content)) ?? [];
    if (role && step) this.#steps.set(role, step);
  }

  #stepOf(role: string): string {
    const step = this.#steps.get(role);
    return step ? ` ${step}` : '';
  }
}

/** Calls that a provider makes at its start, by its heartbeat, or by the clock. */
const isBackgroundCall = (name: string): boolean =>
  / (WATCH|GET \S+\/(v1|v1alpha1)\/[a-z]+( with.*)?$)|\/(leases|events|selfsubject\w+)|status [A-Z]\w+$/.test(name);

/** The calls that belong to a rollout. */
export const isUpdateCall = (name: string): boolean => /^(kube|workload|talos) /.test(name) && !isBackgroundCall(name);

/**
 * What changes a node, and the records of these changes: every run makes these calls. Dry runs of a configuration and pulls
 * of images before the steps come when a node is compared. Pods may be on other nodes.
 */
export const isUpdateEffect = (name: string): boolean =>
  /\/ApplyConfiguration \(\w+ configuration-|\/Pull \(\w+ (images|system)-|\/(Reboot|Upgrade) |PATCH \S+\/(nodes|machines)\/\w+( |$)|\/status begin /.test(
    name,
  );

/** The calls that belong to a remediation. A hypervisor does the restart. */
export const isRemediationCall = (name: string): boolean =>
  isUpdateCall(name) || / (vm\.(stop|poweroff|start)|system\.state)$/.test(name);

/** The request, its record, and the restart. */
export const isRemediationEffect = (name: string): boolean =>
  /\/status begin |PATCH \S+\/machines\/\w+( |$)| vm\.(stop|start)$/.test(name);
