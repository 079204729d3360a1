/**
 * `npm run generate`: writes the generated files: the CRDs in `config/crd`, `docs/reference`, the picture of the
 * README, the index of decision records, and the clients and servers of gRPC in `gen` folders. `test/contracts` checks that they are
 * up to date.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generateProto, protoHomes } from './generate-proto.ts';
import { generatedFiles, projectRoot } from './generated-files.ts';

for (const [path, content] of generatedFiles()) {
  mkdirSync(dirname(join(projectRoot, path)), { recursive: true });
  writeFileSync(join(projectRoot, path), content);
  process.stdout.write(`${path}\n`);
}
await generateProto();
for (const home of protoHomes) process.stdout.write(`${home}/gen\n`);
