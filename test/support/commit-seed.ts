import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

/**
 * A seed below 2³¹ for random choices of tests: the same for every run of one commit, so that a failure can be repeated,
 * and another one for each commit. Random outside a Git repository.
 */
export const commitSeed = readCommitSeed();

function readCommitSeed(): number {
  try {
    const head = execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 10_000,
    });
    return Number.parseInt(head.slice(0, 7), 16);
  } catch {
    return randomInt(2 ** 31);
  }
}
