import { annotations } from '../../api/names.ts';
import { userAnnotations } from '../../api/user-annotations.ts';

/** Consent to what a user saw then. */
const consents: ReadonlySet<string> = new Set([annotations.approve, annotations.failureDomainLost]);

/** Whether the annotation asks for something that is done once, and not for a state, e.g. `rollout: pause`. */
function isRequest(name: string, value: string): boolean {
  const known = userAnnotations.filter(({ key }) => key === name);
  const isState = known.some((one) => one.removed === undefined && one.value === `\`${value}\``);
  return known.some(({ removed }) => removed !== undefined) && !isState;
}

/** The annotations without what was requested before the platform cluster was lost: the user decides again. */
export function withoutRequests(all: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).filter(([name, value]) => !consents.has(name) && !isRequest(name, value)),
  );
}
