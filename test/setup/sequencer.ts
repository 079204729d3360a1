import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/**
 * What takes most of a minute or more, so that nobody waits for it alone at the end. Most sweeps
 * want a core each: between them stands what waits for other programs.
 */
const long = [
  /e2e\/sweep\/faults/,
  /e2e\/sweep\/kills/,
  /e2e\/(real-operator|operator-)/,
  /e2e\/sweep\/(robot|rolls)/,
  /e2e\/oidc-/,
  /e2e\/sweep\/soak/,
  /kube\/real\.test/,
  /robot-platform\/(budget|trouble)/,
  /truenas-platform\/(crashes|struck)|operator\/operator/,
  /robot-platform/,
  /truenas-platform\/(mend-faults|changes|encryption)|talos\/(talosctl|workload\/real)|qemu\.test|world\/main\.test/,
];

const rank = ({ moduleId }: TestSpecification): number => {
  const index = long.findIndex((pattern) => pattern.test(moduleId));
  return index < 0 ? long.length : index;
};

/** Of each project the long ones first, the rest as vitest has it. A worker that changes to another project begins anew. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const at = ({ project }: TestSpecification): number => projects.indexOf(project.name);
    return sorted.toSorted((a, b) => at(a) - at(b) || rank(a) - rank(b));
  }
}
