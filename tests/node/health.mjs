// The health service as grpc-js sees it, by the definitions of grpc-health-check.
//
//     node health.mjs HEALTH_ADDRESS
//
// Prints what Check says of three names, then what a Watch of "" says, line by line, and how it ended.

import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';
import health from 'grpc-health-check';

const definition = loader.loadSync(health.protoPath, { enums: String });
const { Health } = grpc.loadPackageDefinition(definition).grpc.health.v1;
const client = new Health(process.argv[2], grpc.credentials.createInsecure());
const deadline = () => new Date(Date.now() + 15_000);

for (const service of ['', 'liveness', 'no.such.Service']) {
  await new Promise((done) => {
    client.check({ service }, { deadline: deadline(), waitForReady: true }, (error, answer) => {
      console.log(`check ${service || '""'} ${error ? grpc.status[error.code] : answer.status}`);
      done();
    });
  });
}

const watch = client.watch({ service: '' }, { deadline: new Date(Date.now() + 60_000) });
watch.on('data', (answer) => console.log(`watch ${answer.status}`));
watch.on('error', () => {});
watch.on('status', (status) => {
  console.log(`ended ${grpc.status[status.code]}`);
  client.close();
});
