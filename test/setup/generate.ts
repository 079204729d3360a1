/**
 * `npm run generate`: writes the files that are generated from the code — the CRDs in `config/crd`, the tables of the
 * README, and the Talos client in `src/talos/gen`. `test/contracts` verifies that they are up to date.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generateProto } from './generate-proto.ts';
import { generatedFiles, projectRoot } from './generated-files.ts';

for (const [path, content] of generatedFiles()) {
  mkdirSync(dirname(join(projectRoot, path)), { recursive: true });
  writeFileSync(join(projectRoot, path), content);
  process.stdout.write(`${path}\n`);
}
await generateProto();
process.stdout.write('src/talos/gen\n');
