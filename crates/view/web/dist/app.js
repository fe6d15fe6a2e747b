document.body.textContent = "fdconvert view";
